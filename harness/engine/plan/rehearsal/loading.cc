#include "harness/engine/plan/rehearsal/loading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "harness/base/diagnostics.h"
#include "harness/base/object_path.h"
#include "harness/job/formula.h"

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

bool fills_tier(const Job& job, const Means& means, const Value& alone, PlanNotes& reported) {
  if (!job.local_cache || !means.rules.empty()) return false;
  const Job::LocalCache& tier = *job.local_cache;
  const char* why = tier.path.empty() ? "name its folder on this node (local_cache.path)"
                    : alone.find("use")->text == "random_read"
                        ? "only copies of whole files and shards are, which are read whole"
                    : job.loader.kind == job::LoaderKind::in_flight ? "only one of workers that wait for each file is"
                    : tier.policy == job::CachePolicy::lru          ? "only one that evicts nothing is (policy pinned)"
                    : !job.dataset.samples ? "how much of the data it holds is not known (dataset.samples)"
                                           : nullptr;
  if (why != nullptr) reported.remarks.push_back(fmt::format("the local cache is not rehearsed: {}", why));
  return why == nullptr;
}

Value tier(const Job& job, const Means& means, const Value& alone) {
  static constexpr std::array kTaken{
      "path",           "files",   "file_size", "file_size_spread", "samples_per_file", "content",
      "content_sample", "workers", "cache"};
  Value entry = entry_of("local_cache", alone, kTaken);
  if (alone.find("use")->text == "shard_stream") {
    // Shards that are made may be smaller than the job's.
    const double size = number(alone, "file_size", Dimension::bytes);
    entry = with(std::move(entry), "samples_per_file",
                 fmt::format("{:.6g}", size > 0 ? size / job.dataset.stored_size() : job.dataset.samples_per_file));
  }
  const Job::LocalCache& own = *job.local_cache;
  const double ratio = job::apply("C1", {{"available_bytes", own.capacity},
                                         {"dataset_bytes", *job.dataset.samples * job.dataset.stored_size()}})
                           .value();
  entry = with(std::move(entry), "tier", own.path);
  if (is_object_path(means.data) || (means.data.empty() && means.makes_objects))
    entry = with(std::move(entry), "cache", "asis");  // a store's counters do not see the tier's bytes
  return with(std::move(entry), "tier_ratio", fmt::format("{:.6g}", std::min(1.0, ratio)));
}

namespace {

constexpr double kMostAhead = 64;  // batches, as in the workload

}  // namespace

std::vector<double> other_workers(double own, double most) {
  constexpr double kEach = 8;  // up to which all are
  std::vector<double> others;
  for (double each = 1; each <= std::min(most, std::max(kEach, 4 * own));
       each += std::max(1.0, std::floor(each / kEach)))
    if (each != own) others.push_back(each);
  return others;
}

std::vector<double> other_prefetch(const Job& job) {
  const double own = std::clamp(job.loader.prefetch_factor, 1.0, kMostAhead);
  std::set<double> others{2 * own, 4 * own};
  for (double ahead = 1; ahead < own; ahead *= 2) others.insert(ahead);
  std::erase_if(others, [](double ahead) { return ahead > kMostAhead; });
  return {others.begin(), others.end()};
}

namespace {

bool is_array(const Job& job) { return job.dataset.codec == job::SampleCodec::npz; }

}  // namespace

void hold_samples(const Job& job, const Means& means, Value& alone) {
  if (!decodes(job) || !means.data.empty()) return;
  constexpr double kLeast = 4096, kLeastInTar = 8192;  // as DataSetSpec takes them [B]
  const std::string& use = alone.find("use")->text;
  const double size = number(alone, "file_size", Dimension::bytes), sample = std::round(job.dataset.sample_size);
  const double spread = 3 * number(alone, "file_size_spread", Dimension::bytes);
  const double largest = is_array(job) && use != "shard_stream" ? 512 << 20 : 16 << 20;
  const bool in_tar = use == "shard_stream" || job.dataset.samples_per_file > 1;
  if (use == "random_read" || job.dataset.samples_per_file < 1) return;
  if (in_tar ? sample < kLeastInTar || sample > largest || size - spread < 2 * kLeastInTar
             : size - spread < kLeast || size + spread > largest)
    return;
  alone = with(std::move(alone), "content", codec_word(job.dataset));
  if (in_tar) alone = with(std::move(alone), "content_sample", fmt::format("{:.0f}B", sample));
}

Value decoded(const Job& job, const Means& means, Value entry, std::size_t layout, PlanNotes& reported) {
  const char* why = means.data.empty()                                ? nullptr
                    : layout == 2                                     ? "out of shards that are read from front to back"
                    : layout == 0 && job.dataset.samples_per_file < 1 ? "where none lies in several files"
                                                                      : nullptr;
  if (why != nullptr)
    throw UsageError(
        fmt::format("no rehearsal: dataset.codec {}: samples of your own are decoded {}; elsewhere use "
                    "cpu_time_per_sample instead (--set job.dataset.codec=none)",
                    codec_word(job.dataset), why));
  if (is_array(job)) {
    if (means.data.empty() && entry.find("content") == nullptr)
      reported.unproven.push_back(
          fmt::format("the generated files are no .npz files: after each read, an archive of {} in memory is unpacked "
                      "(--data PATH unpacks the files themselves)",
                      format_quantity(std::min(job.dataset.sample_size, 16.0 * (1 << 20)), Dimension::bytes)));
  } else if (entry.find("content") != nullptr)
    reported.unproven.emplace_back(
        "generated images of waves and noise are decoded: photographs may take more or less time (--data PATH decodes "
        "real ones)");
  else if (means.data.empty())
    reported.unproven.push_back(
        fmt::format("the generated files contain no images: after each read, an image of {} in memory is decoded "
                    "(--data PATH decodes the files themselves)",
                    format_quantity(job.dataset.sample_size, Dimension::bytes)));
  if (!is_array(job) && job.dataset.codec != job::SampleCodec::zstd)
    reported.unproven.emplace_back(
        "images are decoded by headrace's own decoder, which takes about a third of the time of Pillow with "
        "torchvision: "
        "--calibrate pillow measures the job's own decoder, dataset.cpu_time_per_sample states it");
  if (job.dataset.image_size) entry = with(std::move(entry), "output", fmt::format("{:.0f}", *job.dataset.image_size));
  return with(std::move(entry), "codec", codec_word(job.dataset));
}

Value decoded_on_gpus(const Value& decoding) {
  static constexpr std::array kTaken{"path", "sample_size", "images", "on_error"};
  return entry_of("gpu_decode", decoding, kTaken);
}

}  // namespace headrace::rehearsal
