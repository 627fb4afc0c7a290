#include "harness/storage/short_run.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace headrace {

Trial run_trial(Workload& workload, double seconds) {
  const unsigned count = workload.workers();
  const auto parts = static_cast<unsigned>(workload.latency_parts().size());
  std::vector<std::unique_ptr<Recorder>> recorders;
  for (unsigned i = 0; i < count; ++i) recorders.push_back(std::make_unique<Recorder>(parts));
  workload.before_phase(0, 0, 1);
  std::atomic<bool> stop{false}, failed{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      Worker worker{.index = i, .count = count, .phase = 0, .repetition = 0, .seed = 1, .recorder = *recorders[i]};
      try {
        workload.before_run(worker);
        worker.recorder.start(now_ns() + static_cast<std::uint64_t>(seconds * 1e9), &stop);
        workload.run(worker);
      } catch (const std::exception&) {
        failed = stop = true;
      }
      worker.recorder.finish();
    });
  }
  for (std::thread& thread : threads) thread.join();
  Trial trial{.failed = failed, .latency = {}};
  std::uint64_t begin = UINT64_MAX, end = 0;
  for (const auto& r : recorders) {
    trial.bytes += r->bytes();
    trial.operations += r->operations();
    trial.latency.merge(r->latency());
    trial.failed = trial.failed || r->errors() > 0;
    begin = std::min(begin, r->started_ns());
    end = std::max(end, r->finished_ns());
  }
  if (end > begin) trial.elapsed_s = 1e-9 * static_cast<double>(end - begin);
  return trial;
}

}  // namespace headrace
