#include "harness/engine/loader_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/units.h"
#include "harness/requirements/formula.h"

namespace headrace {
namespace {

using requirements::apply;
using requirements::Job;
using requirements::LoaderKind;

std::string per_second(double value) { return format_quantity(value, Dimension::per_second); }

/// As the framework of the job's loader has it, and as others have.
std::vector<std::string> settings(const Job& job, double workers, double ahead) {
  const double batch = job.step.micro_batch;
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

/// How few batches ahead keep the GPUs as busy as the job asks. False: none that was tried, which is told.
bool tune_prefetch(const Job& job, double own_workers, LoaderTuning& t) {
  if (t.ahead.empty()) return true;
  const double target = job.step.target_utilization;
  const auto enough =
      std::ranges::find_if(t.ahead, [&](const LoaderTuning::Ahead& one) { return one.utilization.low >= target; });
  if (enough == t.ahead.end()) {
    const auto best =
        std::ranges::max_element(t.ahead, {}, [](const LoaderTuning::Ahead& one) { return one.utilization.low; });
    t.told.push_back(fmt::format(
        "no prefetch_factor that was tried, {:.0f} to {:.0f}, lets the GPUs compute {} of the time, though "
        "the loader is fast enough on average: with {:.0f} workers of each GPU and {:.0f} they compute "
        "{}{}",
        t.ahead.front().prefetch_factor, t.ahead.back().prefetch_factor, format_percent(target), own_workers,
        best->prefetch_factor, format_percent(best->utilization.value), in_bounds(best->utilization, format_percent)));
    return false;
  }
  // Of tf.data all workers are so far ahead together, else each is: fewer workers as many batches.
  const bool together = job.loader.kind == LoaderKind::tfdata;
  t.prefetch_factor = together ? enough->prefetch_factor : std::ceil(enough->prefetch_factor * own_workers / *t.fewest);
  t.told.push_back(fmt::format(
      "the least prefetch_factor, of those that were tried with {:.0f} workers of each GPU: {:.0f} (the GPUs "
      "compute {} of the time{}, {} asked for){}",
      own_workers, enough->prefetch_factor, format_percent(enough->utilization.value),
      in_bounds(enough->utilization, format_percent), format_percent(target),
      *t.prefetch_factor != enough->prefetch_factor
          ? fmt::format("; {:.0f} of {:.0f} workers are as many batches", *t.prefetch_factor, *t.fewest)
          : ""));
  return true;
}

}  // namespace

LoaderTuning tune_loader(const Job& job, LoaderTrials trials) {
  LoaderTuning t;
  std::ranges::sort(trials.tried, {}, &LoaderTuning::Tried::workers);
  std::ranges::sort(trials.ahead, {}, &LoaderTuning::Ahead::prefetch_factor);
  t.tried = std::move(trials.tried);
  t.ahead = std::move(trials.ahead);
  t.needed = trials.taken * job.step.target_utilization;
  if (t.tried.empty()) {
    t.told.emplace_back("no number of workers is recommended: where others were tried, data may have come from memory");
    return t;
  }
  // More workers can give less where cores are used up: any number that suffices does, and the fewest is asked for.
  const auto enough =
      std::ranges::find_if(t.tried, [&](const LoaderTuning::Tried& one) { return one.rate.low >= t.needed; });
  if (enough == t.tried.end()) {
    const auto best =
        std::ranges::max_element(t.tried, {}, [](const LoaderTuning::Tried& one) { return one.rate.low; });
    t.told.push_back(
        fmt::format("no number of workers that was tried, {:.0f} to {:.0f} of each GPU, feeds the GPUs: {:.0f} "
                    "give {}{} of the {} that they need",
                    t.tried.front().workers, t.tried.back().workers, best->workers, per_second(best->rate.value),
                    in_bounds(best->rate, per_second), per_second(t.needed)));
    return t;
  }
  t.fewest = enough->workers;
  const bool fed = tune_prefetch(job, trials.own_workers, t);
  const double ahead = t.prefetch_factor.value_or(job.loader.prefetch_factor);
  if (fed)
    t.memory = apply("B4", {{"ranks_count", trials.gpus},
                            {"workers_count", enough->workers},
                            {"prefetch_factor_count", ahead},
                            {"batch_samples_count", job.step.micro_batch},
                            {"decoded_sample_bytes", job.dataset.decoded_size.value_or(job.dataset.sample_size)}})
                   .value();
  double cpu_time_s = trials.cpu_time_s;
  if (cpu_time_s <= 0) cpu_time_s = job.dataset.cpu_time_per_sample.value_or(0);
  if (cpu_time_s > 0)
    t.cores = apply("B2", {{"node_sample_rate_per_s", t.needed},
                           {"cpu_time_per_sample_s", cpu_time_s},
                           {"target_utilization_ratio", 1}})
                  .value();
  t.told.insert(
      t.told.begin(),
      fmt::format("the fewest workers that feed the GPUs, of those that were tried: {:.0f} of each GPU ({}{}, "
                  "needed {}){}",
                  enough->workers, per_second(enough->rate.value), in_bounds(enough->rate, per_second),
                  per_second(t.needed),
                  t.cores > 0 ? fmt::format(", {:.0f} core{} to decode (B2)", t.cores, t.cores > 1 ? "s" : "") : ""));
  if (!fed) return t;
  t.told.back() += fmt::format("; up to {} of prefetched batches (B4)", format_quantity(t.memory, Dimension::bytes));
  for (std::string& setting : settings(job, enough->workers, ahead)) t.told.push_back(std::move(setting));
  if (enough->workers != trials.own_workers && t.prefetch_factor)
    t.told.push_back(fmt::format(
        "so few workers and so few batches ahead were not rehearsed together: --set job.loader.workers_per_gpu={:.0f} "
        "--set job.loader.prefetch_factor={:.0f}",
        enough->workers, ahead));
  return t;
}

}  // namespace headrace
