// The roles of processes: consumers of batches, the loader's workers, the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/observe/sampling/recording.h"

namespace headrace::observe {

/// Workers that were started together, as a loader starts them anew each epoch.
struct Generation {
  std::vector<std::uint32_t> workers;
  double begin_s = 0, end_s = 0;  // when the first of them was noticed; when the first of the next was, or infinite
};
/// By time; none where there are no workers. One that is noticed late, while others are there, belongs to those.
std::vector<Generation> generations_of(const Recording& recording, const std::vector<std::uint32_t>& workers);

struct Roles {
  std::vector<std::uint32_t> consumers;  // processes that take batches: one for each GPU, mostly; ascending
  std::vector<std::uint32_t> workers;    // processes that read for them; ascending
  bool in_process = false;               // no process reads for another: the consumers do it themselves
  std::vector<std::uint32_t> threads;    // of consumers, that bring data in; into Recording::threads, ascending
  // Those of ProcessSlice::stretches in which a main thread that reads itself makes a batch. 0: not to be reported from
  // its steps.
  std::size_t making = 0;
  double begin_s = 0, end_s = 0;        // while batches were taken; equal: never
  double workers_at_once = 0;           // on average, while batches were taken
  double consumers_at_once = 0;         // a job may start one after the other
  std::vector<Generation> generations;  // of workers

  bool is_worker(std::uint32_t process) const;
  bool is_consumer(std::uint32_t process) const;
  bool is_thread(std::uint32_t thread) const;
};

Roles find_roles(const Recording& recording);

}  // namespace headrace::observe
