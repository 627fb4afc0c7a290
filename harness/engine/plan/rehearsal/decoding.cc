#include "harness/engine/plan/rehearsal/decoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "harness/base/diagnostics.h"

namespace headrace::rehearsal {

using job::Job;

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
