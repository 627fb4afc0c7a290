#include "harness/engine/plan/own_data.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string_view>

#include "harness/backends/engines.h"
#include "harness/backends/formats/format.h"
#include "harness/backends/loader.h"
#include "harness/base/error.h"
#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/machine/node.h"
#include "harness/workload/data/data_set/walk.h"
#include "harness/workload/data/mds_index.h"
#include "harness/workload/data/some_samples.h"

namespace headrace {
namespace {

using job::Layout;

/// Means of a part of a data set, and of job files, are rough.
constexpr double kAlike = 2;

std::string compact(double value) { return compact_quantity(value, Dimension::bytes); }

bool is_alike(double a, double b) { return a <= b * kAlike && b <= a * kAlike; }

Walked listed(const std::string& path, const WalkRules& rules) {
  try {
    if (!is_object_path(path)) return walk(path, rules, {});
    Node node("");
    return list_objects(*node.backends().storage(object_engine()).object_store(), path, rules, {});
  } catch (const RunError& e) {
    throw UsageError(fmt::format("the job's data set: {}", e.what()));
  }
}

FileTable walked(const std::string& path) { return std::move(listed(path, {}).files); }

}  // namespace

bool is_parquet(const std::string& path) {
  const FileTable files = walked(path);
  std::uint32_t others = 0;
  for (std::uint32_t file = 0; file < files.count(); ++file)
    if (!files.name(file).ends_with(".parquet")) {
      if (!formats::is_side_file(files.name(file))) return false;
      ++others;
    }
  return files.count() > others;
}

double files_of_own_data(const std::string& path) { return walked(path).count(); }

double bytes_of_own_data(const std::string& path) { return static_cast<double>(walked(path).total_bytes()); }

std::uint64_t largest_of_own_data(const std::string& path) { return walked(path).largest(); }

namespace {

/// The overhead of the shards' format per sample; "" = negligible.
std::string count_overhead(job::Job& job, const FileTable& files) {
  constexpr double kLittle = 0.01;
  auto& data = job.dataset;
  if (data.layout != Layout::shards || data.format_overhead) return "";
  const OwnSamples own = own_samples(files);
  const double added = own.stored_size - data.sample_size;
  const std::string_view format = formats::to_string(own.format);
  if (added > std::max(data.sample_size, job::kMostHeaders))
    throw UsageError(
        fmt::format("{}: the {} shards have {} for each sample, and the job's samples are of {}: set "
                    "dataset.sample_size",
                    files.root(), format, compact(own.stored_size), compact(data.sample_size)));
  if (added <= kLittle * data.sample_size) return "";
  job::set_format_overhead(job, added);
  return fmt::format("{} adds {} of headers and padding to each sample of {}: samples/s are of {} each", format,
                     compact(std::round(added)), compact(data.sample_size), compact(std::round(own.stored_size)));
}

/// Does the job take images, a file each, as ImageFolder does?
bool reads_images(const job::Job& job) {
  using job::SampleCodec;
  const auto& data = job.dataset;
  const bool image = data.codec == SampleCodec::jpeg || data.codec == SampleCodec::png;
  return image && data.layout == Layout::files && data.samples_per_file == 1;
}

std::string first_of(const std::vector<MdsIndexFault>& faults) {
  const std::size_t more = faults.size() - 1;
  return faults.front().words + (more > 0 ? fmt::format(", and {} more", more) : "");
}

/// Reading by an index needs one with bytes that fits its shards; codecs or none, StreamingDataset opens no folder
/// without. What a way by other calls leaves open.
std::string check_index(const job::Job& job, const Walked& data, const std::string& path) {
  const FileTable& files = data.files;
  if (job.dataset.layout != Layout::shards || job.loader.skips_bad_samples) return "";
  if (files.holds_objects() || !std::filesystem::is_directory(path)) return "";
  const bool by_index = job.dataset.read_profile == job::ReadProfile::mds;
  bool any = false;
  std::vector<std::uint32_t> shards;
  for (std::uint32_t file = 0; file < files.count(); ++file) {
    any |= is_mds_index(files.name(file));
    if (formats::format_by_name(files.name(file)) == formats::Format::mds) shards.push_back(file);
  }
  if (by_index && !any)
    throw UsageError(
        fmt::format("{}: no index.json that has bytes: StreamingDataset opens no MDS shards without one; write the "
                    "shards anew, or set dataset.read_profile",
                    path));
  if (shards.empty()) return "";
  const std::vector<MdsIndexFault> faults = mds_index_faults(files, shards, data.empty);
  if (faults.empty()) return "";
  if (by_index)
    throw UsageError(first_of(faults) +
                     ": copy or write the shards and their index anew, or set loader.on_error: skip");
  return first_of(faults);
}

}  // namespace

std::vector<std::string> check_own_data(job::Job& job, const std::string& path) {
  const Walked own_data = listed(path, {.images = reads_images(job)});
  const FileTable& files = own_data.files;
  std::vector<std::string> remarks;
  if (std::string wrong = check_index(job, own_data, path); !wrong.empty()) remarks.push_back(std::move(wrong));
  if (std::string added = count_overhead(job, files); !added.empty()) remarks.push_back(std::move(added));
  const auto& data = job.dataset;
  const double count = static_cast<double>(files.count()), all = static_cast<double>(files.total_bytes());
  const double mean = all / count, own = data.stored_size() * data.samples_per_file;
  const std::string there = fmt::format("{}: {:.0f} files of {} on average", path, count, compact(mean));
  if (data.layout == Layout::files && !is_alike(mean, own)) {
    throw UsageError(
        fmt::format("{}, but the job says {}: set dataset.sample_size and dataset.samples_per_file to match{}", there,
                    compact(own), mean > own ? ", or dataset.layout: shards" : ""));
  }
  if (data.layout == Layout::shards && data.samples_per_file > kAlike && is_alike(mean, data.stored_size()))
    throw UsageError(
        fmt::format("{}, as large as one sample of the job, whose shards hold {:.0f}: set dataset.layout: "
                    "files, or name the shards",
                    there, data.samples_per_file));
  if (data.layout == Layout::tokens && mean < data.request_size)
    throw UsageError(
        fmt::format("{}, less than one request of the job, {}: set dataset.request_size, or name the token "
                    "files",
                    there, compact(data.request_size)));
  if (!data.samples) return remarks;
  const double samples = all / data.stored_size();
  if (samples > kAlike * *data.samples)
    throw UsageError(
        fmt::format("{}, about {:.3g} samples, and the job has {:.3g}: set dataset.samples, or name the "
                    "job's own",
                    there, samples, *data.samples));
  if (samples * kAlike < *data.samples)
    remarks.push_back(fmt::format("{}, about {:.2g} of the job's samples: larger folders and indices may be slower",
                                  there, samples / *data.samples));
  return remarks;
}

}  // namespace headrace
