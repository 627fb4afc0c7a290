// The common keys of storage workloads, with the same meaning everywhere: the readers, their engine, their requests in
// flight.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/engines.h"
#include "harness/backends/file_io.h"
#include "harness/base/footprint.h"
#include "harness/record/cache_state.h"
#include "harness/record/params.h"
#include "harness/workload/data/data_set.h"

namespace headrace {

/// The multiple of `unit` [B] that is nearest to `value`, at least one: "8KiB", "16384B".
std::string nearest_multiple(std::uint64_t value, std::uint64_t unit);

struct StorageParams {
  struct Defaults {
    unsigned workers;
    std::uint64_t block_size;
    bool direct_allowed;            // is there a key `direct`?
    bool maps = false;              // may it read mapped files?
    bool queues = true;             // may a worker keep more than one request in flight?
    std::uint32_t queue_depth = 8;  // of an engine that queues
    const char* workers_key = "workers";
    const char* workers_help = "reading threads";
    std::string engine{};  // "" = the first of the table
    bool objects = false;  // may `path` lead into an object store?
  };

  std::string engine;             // of the table in harness/backends/engines.h
  unsigned workers = 1;           // threads
  std::uint32_t queue_depth = 1;  // requests in flight, each worker
  std::uint64_t block_size = 0;   // largest single read [B]
  bool direct = false;
  bool poll_submission = false, poll_completion = false;
  unsigned retries = 0;  // of objects: how often a request is sent again whose failure may pass

  /// The key `retries` of workloads that read or write objects, with `prefix` in front.
  static unsigned declare_retries(Params& params, bool objects, const std::string& prefix = "");
  static StorageParams declare(Params& params, const Defaults& defaults);
  /// The abilities of the engine.
  const StorageTraits& traits() const { return storage_traits(engine); }
  /// Why the engine cannot be used on this machine.
  std::optional<Skip> check(Node& node) const;
  ReaderOptions reader_options() const;
  /// Those that reads like these can keep.
  std::vector<CacheState> cache_states() const;
  /// The footprint of a repetition that reads `read_bytes` of this data.
  Footprint footprint(const DataSetSpec& data, std::uint64_t read_bytes) const;
  /// All buffers of all workers [B].
  std::uint64_t buffer_bytes() const { return workers * queue_depth * block_size; }
};

}  // namespace headrace
