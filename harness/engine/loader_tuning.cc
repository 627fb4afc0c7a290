#include "harness/engine/loader_tuning.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/units.h"
#include "harness/requirements/formula.h"

namespace headrace {
namespace {

using requirements::apply;
using requirements::Job;
using requirements::LoaderKind;

std::string rate(double value) { return format_quantity(value, Dimension::per_second); }

/// As the framework of the job's loader has it, and as others have.
std::vector<std::string> settings(const Job& job, double workers) {
  const double batch = job.step.micro_batch, ahead = job.loader.prefetch_factor;
  if (job.loader.kind == LoaderKind::in_flight)
    return {fmt::format("{:.0f} reading thread{} for each GPU, with as many requests in flight as were rehearsed",
                        workers, workers > 1 ? "s" : "")};
  if (job.loader.kind == LoaderKind::tfdata)
    return {fmt::format("tf.data: dataset.map(decode, num_parallel_calls={:.0f}).batch({:.0f}).prefetch({:.0f})",
                        workers, batch, ahead)};
  return {fmt::format("PyTorch: DataLoader(dataset, batch_size={:.0f}, num_workers={:.0f}, prefetch_factor={:.0f}, "
                      "persistent_workers=True)",
                      batch, workers, ahead),
          fmt::format("DALI, where its operators do the same: Pipeline(batch_size={:.0f}, num_threads={:.0f}, "
                      "prefetch_queue_depth={:.0f})",
                      batch, workers, ahead)};
}

}  // namespace

LoaderTuning tune_loader(const Job& job, double gpus, double taken, std::vector<LoaderTuning::Tried> tried,
                         double cpu_time_s) {
  LoaderTuning t;
  std::ranges::sort(tried, {}, &LoaderTuning::Tried::workers);
  t.tried = std::move(tried);
  t.needed = taken * job.step.target_utilization;
  if (t.tried.empty()) return t;
  // More workers can give less where cores are used up: any number that suffices does, and the fewest is asked for.
  const auto enough =
      std::ranges::find_if(t.tried, [&](const LoaderTuning::Tried& one) { return one.rate.low >= t.needed; });
  if (enough == t.tried.end()) {
    const auto best =
        std::ranges::max_element(t.tried, {}, [](const LoaderTuning::Tried& one) { return one.rate.low; });
    t.told.push_back(
        fmt::format("no number of workers that was tried, {:.0f} to {:.0f} of each GPU, feeds the GPUs: {:.0f} "
                    "give {} [{}, {}] of the {} that they need",
                    t.tried.front().workers, t.tried.back().workers, best->workers, rate(best->rate.value),
                    rate(best->rate.low), rate(best->rate.high), rate(t.needed)));
    return t;
  }
  t.fewest = enough->workers;
  t.memory = apply("B4", {{"ranks_count", gpus},
                          {"workers_count", enough->workers},
                          {"prefetch_factor_count", job.loader.prefetch_factor},
                          {"batch_samples_count", job.step.micro_batch},
                          {"decoded_sample_bytes", job.dataset.decoded_size.value_or(job.dataset.sample_size)}})
                 .value();
  if (cpu_time_s <= 0) cpu_time_s = job.dataset.cpu_time_per_sample.value_or(0);
  if (cpu_time_s > 0)
    t.cores = apply("B2", {{"node_sample_rate_per_s", t.needed},
                           {"cpu_time_per_sample_s", cpu_time_s},
                           {"target_utilization_ratio", 1}})
                  .value();
  t.told.push_back(
      fmt::format("the fewest workers that feed the GPUs, of those that were tried: {:.0f} of each GPU ({} [{}, {}], "
                  "needed {}); up to "
                  "{} of prefetched batches (B4){}",
                  enough->workers, rate(enough->rate.value), rate(enough->rate.low), rate(enough->rate.high),
                  rate(t.needed), format_quantity(t.memory, Dimension::bytes),
                  t.cores > 0 ? fmt::format(", {:.0f} core{} to decode (B2)", t.cores, t.cores > 1 ? "s" : "") : ""));
  for (std::string& setting : settings(job, enough->workers)) t.told.push_back(std::move(setting));
  return t;
}

}  // namespace headrace
