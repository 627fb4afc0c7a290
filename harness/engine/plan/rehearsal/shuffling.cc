#include "harness/engine/plan/rehearsal/shuffling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::rehearsal {

using job::Job;

namespace {

constexpr double kMixed = 16;          // times its shuffle buffer a worker reads, so that most is read with a full one
constexpr double kUsualInitial = 100;  // of WebDataset's shuffle(): held before the first sample goes

}  // namespace

Value mixing(const Job& job, Value entry, const Mixing& here, PlanNotes& reported) {
  if (here.layout == 0) {
    reported.remarks.emplace_back(
        "loader.shuffle_buffer: files are shuffled by their names, and no sample is held for it");
    return entry;
  }
  const bool groups = rows_of_group(entry) > 1;
  if (here.layout == 2 && !groups) {
    reported.remarks.emplace_back("loader.shuffle_buffer: samples are read in a random order, and none is held for it");
    return entry;
  }
  if (here.tables) {
    reported.remarks.emplace_back("loader.shuffle_buffer: rows of one's own Parquet files are not held for it");
    return entry;
  }
  const double own = *job.loader.shuffle_buffer;
  const double usual = entry.find("read_profile") != nullptr && entry.find("read_profile")->text == "wds"
                           ? std::min(own, kUsualInitial)
                           : own;
  const double initial = job.loader.shuffle_initial.value_or(usual);
  const double reads =
      here.steps * number(entry, "batch_size", Dimension::count) * job.step.accumulation * here.gpus / here.workers;
  const double held = std::clamp(std::floor(reads / kMixed), 1.0, own);
  const double first = std::clamp(std::round(initial * held / own), 1.0, held);
  if (held < own)
    reported.unproven.push_back(
        fmt::format("shuffle buffer of {:.0f} samples per worker, {:.0f} of them before the first batch, instead of "
                    "{:.0f} and {:.0f}, as a worker reads {:.0f} in a repetition. The job's takes {:.3g} times as long "
                    "to fill, and {} of memory on each node",
                    held, first, own, initial, std::floor(reads), initial / first,
                    format_quantity(own * job.dataset.sample_size * here.workers, Dimension::bytes)));
  entry = with(std::move(entry), "shuffle_buffer", fmt::format("{:.0f}", held));
  return with(std::move(entry), "shuffle_initial", fmt::format("{:.0f}", first));
}

}  // namespace headrace::rehearsal
