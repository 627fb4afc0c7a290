// `loader`: which training framework's loader a workload imitates. It determines the samples of each worker, how far
// ahead, and the order of delivery.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/record/params.h"
#include "harness/workload/data/batches.h"
#include "harness/workload/data/open_loop.h"
#include "harness/workload/data/tuning.h"

namespace headrace {

class Loader {
 public:
  enum class Kind {
    none,              // a free worker takes the next; nothing waits for an order
    pytorch,           // DataLoader: batch i by worker i mod workers, sample after sample, delivered in order
    pytorch_iterable,  // the same, each worker out of its own share
    tfdata,            // samples delivered in order, the parallel calls of map() and interleave()
    in_flight,         // an engine that keeps requests in flight (DALI with GDS, SPDL): none, with a queue
  };

  /// Declares `loader`, `batch_size` and `prefetch_factor`. Before StorageParams::declare, whose engine follows from it.
  static Loader declare(Params& params) { return declare(params, Kind::none); }
  /// For a workload with a consumer: there is a loader, which delivers batches in any order.
  static Loader declare_with_consumer(Params& params) { return declare(params, Kind::pytorch); }
  /// The default engine of such a loader's workers; "" = that of all workloads.
  std::string engine() const { return kind_ == Kind::in_flight ? queueing_engine() : ""; }
  /// Reports options that exclude this loader: other engines, an open loop, tuning.
  void check(Params& params, const StorageParams& io, const OpenLoop& open_loop, bool tuned) const;

  Kind kind() const { return kind_; }
  /// Are batches delivered in order?
  bool in_order() const { return kind_ != Kind::none && kind_ != Kind::in_flight; }
  std::uint64_t batch_size() const { return batch_size_; }
  unsigned prefetch_factor() const { return prefetch_factor_; }
  /// How many operations a batch is, when one gives that many samples; at least 1.
  std::uint64_t operations_per_batch(double samples_per_operation) const;
  /// The same for the unit that a worker hands over: a batch; of tfdata a sample.
  std::uint64_t operations(double samples_per_operation) const;

  /// Untimed. A batch is that many operations; `most`: operations of one worker at most. `buffered`: does a step
  /// between reading and ordering keep ready samples (tfdata: interleave() does, map() does not)?
  void before_phase(unsigned workers, std::uint64_t operations, std::uint64_t most, bool buffered);
  /// The worker's lane, begun.
  Batches::Lane& begin(const Worker& worker) noexcept;

 private:
  static Loader declare(Params& params, Kind fallback);

  Kind kind_ = Kind::none;
  std::uint64_t batch_size_ = 1;
  unsigned prefetch_factor_ = 1;
  std::unique_ptr<Batches> batches_;
  std::vector<Batches::Lane> lanes_;
};

}  // namespace headrace
