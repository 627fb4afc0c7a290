// `tune: true` - finds by trying which engine, block size and queue depth read fastest here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/record/params.h"
#include "harness/record/trial.h"
#include "harness/workload/data/storage_params.h"

namespace headrace {

class Backends;

/// One way to do the same reads.
struct Way {
  std::string engine;
  std::uint64_t block_size = 0;
  std::uint32_t queue_depth = 1;
};
/// "io_uring, 1 MiB blocks, 8 in flight".
std::string to_string(const Way& way);

/// The settings that may be changed, and those that the user has fixed.
class Tuning {
 public:
  /// Declares the key `tune`. Call after StorageParams::declare. `block_size_too`: may blocks be of
  /// any size?
  static Tuning declare(Params& params, const StorageParams& io, bool block_size_too);

  bool wanted() const { return wanted_; }
  /// When it is wanted, and once: searches, and leaves `use` called with the best way. use(way)
  /// opens the readers anew.
  void run(const RunTrial& trial, const Backends& backends, const std::function<void(const Way&)>& use);
  /// "tuned: io_uring, 1 MiB blocks, 8 in flight: 3.12 GB/s; next: ..."; "" before run().
  const std::string& note() const { return note_; }
  /// Every way that is open on this machine, at most 42.
  std::vector<Way> ways(const Backends& backends) const;

 private:
  std::string note_;
  bool wanted_ = false, any_engine_ = false, any_block_ = false, any_depth_ = false;
  StorageParams io_;
};

/// A setting and its rate when it was tried last [B/s].
struct Tried {
  Way way;
  double bytes_per_s = 0;
};

/// Successive halving (Karnin, Koren, Somekh: Almost Optimal Exploration in Multi-Armed Bandits, ICML 2013). All
/// settings are tried shortly, the better half again for twice as long, until few are left. Those are tried three times
/// in turns and judged by their medians. `rate(way, seconds)` measures; 0 or a RunError = it cannot be used. Best
/// first, at least one.
std::vector<Tried> search(std::vector<Way> ways, const std::function<double(const Way&, double)>& rate);

}  // namespace headrace
