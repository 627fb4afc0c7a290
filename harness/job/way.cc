#include "harness/job/way.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/job/job_keys.h"

namespace headrace::job {
namespace {

bool is_alike(double a, double b, double within) { return a > 0 && b > 0 && a <= b * within && b <= a * within; }

constexpr double kAlikeSize = 1.1, kAlikeWorkers = 1.25;

/// Do a loader's settings make a difference to it?
/// Those with a key `loader`.
bool has_loader(std::string_view workload) {
  return workload == "small_file_read" || workload == "shard_stream" || workload == "random_read";
}

/// Those that do a loader's work.
bool is_loader(std::string_view workload) {
  return has_loader(workload) || workload == "epochs" || workload == "metadata";
}

/// Does each worker keep more than one read in flight?
bool many_in_flight(const Settings& settings) { return setting_number(settings, "queue_depth") > 1; }

bool is_saver(std::string_view workload) { return workload.starts_with("checkpoint_"); }

bool reads_whole_files(const Way& way, std::string_view workload) {
  return way.layout == "files" && (workload == "small_file_read" || workload == "epochs");
}

bool size_answers(const Way& way, std::string_view workload, std::string_view metric, const Settings& settings) {
  const bool own_data = !setting(settings, "path").empty();  // the user's files, as they are
  if (reads_whole_files(way, workload) && !own_data)
    return is_alike(setting_number(settings, "file_size"), way.file_size, kAlikeSize);
  if (workload == "random_read") return is_alike(setting_number(settings, "block_size"), way.request_size, kAlikeSize);
  // For packed samples only the number depends on their size.
  const double sample = setting_number(settings, "sample_size");
  if (workload == "shard_stream" && metric == "sample_rate" && sample > 0)
    return is_alike(sample, way.sample_size, kAlikeSize);
  return true;
}

/// The place of the data that a loader's workload read, and of the job's.
std::string other_place(const Way& way, std::string_view workload, const Settings& settings) {
  if (way.data.empty() || !is_loader(workload)) return "";
  if (way.data == "objects" && !reads_objects(settings))
    return "read files of a file system, and the job reads objects of a store (dataset.path: s3://...)";
  if (way.data == "files" && reads_objects(settings))
    return "read objects of a store, and the job reads files (dataset.path)";
  return "";
}

std::string why_no_answer(const Way& way, std::string_view workload, std::string_view metric,
                          const Settings& settings) {
  if (const std::string other = other_place(way, workload, settings); !other.empty()) return other;
  return size_answers(way, workload, metric, settings) ? "" : "moved files or requests of another size than the job's";
}

void hold_workers(const Way& way, const Settings& settings, Likeness& like) {
  const double had = setting_number(settings, "workers");
  if (way.workers <= 0 || had <= 0) return;
  like.distance += std::abs(std::log2(had / way.workers));
  if (is_alike(had, way.workers, kAlikeWorkers)) return;
  like.differs.push_back(fmt::format("{:.0f} reading workers per node, the job has {:.0f}", had, way.workers));
  (had > way.workers ? like.more : like.less) = true;
}

/// The kind of loader that reads in this workload like the job's. For packed samples, each worker reads its own shards.
std::string_view loader_in(const Way& way, std::string_view workload) {
  return workload == "shard_stream" && way.loader == "pytorch" ? "pytorch_iterable" : std::string_view(way.loader);
}

/// Can the workload make these calls? Others imitate them by the sizes of their requests.
bool knows(std::string_view workload, std::string_view profile) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kKnown{{{"small_file_read", "whole"},
                                                                                        {"small_file_read", "pil"},
                                                                                        {"small_file_read", "npz"},
                                                                                        {"shard_stream", "wds"},
                                                                                        {"random_read", "ranged"},
                                                                                        {"random_read", "mmap"},
                                                                                        {"random_read", "mds"},
                                                                                        {"random_read", "row_group"}}};
  return std::ranges::find(kKnown, std::pair(workload, profile)) != kKnown.end();
}

/// The readers and their calls. Older runs, which do not record them, are taken as they are.
void hold_loader(const Way& way, std::string_view workload, const Settings& settings, Likeness& like) {
  const bool queues = many_in_flight(settings);
  if (queues && way.loader != "in_flight") {
    like.distance += 2;
    like.more = true;
    like.less = false;
    like.differs.push_back(fmt::format("{} reads in flight per worker ({}), a loader's workers wait for each",
                                       setting(settings, "queue_depth"), setting(settings, "engine")));
  } else if (!queues && way.loader == "in_flight" && !setting(settings, "engine").empty()) {
    like.distance += 2;
    like.less = true;
    like.differs.push_back("workers that wait for each read, the job's loader keeps many in flight");
  }
  const std::string loader = setting(settings, "loader");
  if (!queues && loader == "none" && way.loader != "in_flight") {
    like.distance += 0.5;  // the same number of readers, but none waits for another's batch
  } else if (!loader.empty() && loader != "none" && loader != loader_in(way, workload)) {
    like.distance += 1;
    like.differs.push_back(fmt::format("loader {}, the job's is {}", loader, loader_in(way, workload)));
  }
  if (is_object_path(setting(settings, "path"))) return;  // calls are of files
  const std::string profile = setting(settings, "read_profile");
  if (profile.empty() || profile == way.read_profile || !knows(workload, way.read_profile)) return;
  like.distance += 1;
  like.differs.push_back(fmt::format("read profile {}, the job's is {}", profile, way.read_profile));
}

void hold_reads(const Way& way, std::string_view workload, const Settings& settings, Likeness& like) {
  hold_loader(way, workload, settings, like);
  // A reader of whole files reads each in one request of any size.
  const double block = setting_number(settings, "block_size");
  if (block > 0 && way.layout != "files") {
    like.distance += std::abs(std::log2(block / way.request_size)) / 4;
    if (!is_alike(block, way.request_size, kAlikeSize))
      like.differs.push_back(fmt::format("requests of {}, the job's are {}", compact_quantity(block, Dimension::bytes),
                                         compact_quantity(way.request_size, Dimension::bytes)));
  }
  if (setting(settings, "direct") == "true") {
    like.distance += 1;
    like.differs.push_back("direct reads, a loader's go through the page cache");
  }
}

void hold_saves(const Way& way, const Settings& settings, Likeness& like) {
  const double ranks = setting_number(settings, "ranks");
  if (ranks > 0) {
    like.distance += std::abs(std::log2(ranks / way.savers)) / 4;
    if (ranks != way.savers)
      like.differs.push_back(fmt::format("{:.0f} ranks per node, the job has {:.0f}", ranks, way.savers));
  }
  const std::string mode = setting(settings, "mode");
  if (mode.empty() || (mode == "async") == way.async) return;
  like.distance += 4;
  like.differs.push_back(fmt::format("mode {}, the job saves {}", mode, way.async ? "async" : "sync"));
}

std::string bytes(double value) { return compact_quantity(value, Dimension::bytes); }

std::string reported_reads(const Way& way, std::string_view workload, const Settings& settings) {
  if (workload == "metadata") return "names alone";
  const double block = setting_number(settings, "block_size");
  const std::string requests = block > 0 ? fmt::format(" in requests of {}", bytes(block)) : "";
  const std::string profile = setting(settings, "read_profile");
  if (workload == "shard_stream") return "shards" + (profile == "wds" ? " as WebDataset reads them" : requests);
  if (workload == "random_read")
    return (profile == "mmap"        ? "mapped files"
            : profile == "mds"       ? "samples of shards by their index"
            : profile == "row_group" ? "row groups"
                                     : "anywhere in large files") +
           requests;
  if (profile == "pil") return "files as Pillow reads them";
  if (profile == "npz") return "files as numpy reads arrays of them";
  return reads_whole_files(way, workload) || workload == "small_file_read" ? "whole files" : "files" + requests;
}

}  // namespace

Way way_of(const Job& job) {
  const auto word = [](std::string_view key, auto value) {
    return find_job_key(key)->choices.at(static_cast<std::size_t>(value));
  };
  return {.layout = word("dataset.layout", job.dataset.layout),
          .loader = word("loader.kind", job.loader.kind),
          .read_profile = word("dataset.read_profile", job.dataset.read_profile),
          .file_size = job.dataset.stored_size() * job.dataset.samples_per_file,
          .sample_size = job.dataset.stored_size(),
          .request_size = job.dataset.request(),
          .workers =
              (job.loader.workers_per_gpu ? std::max(1.0, *job.loader.workers_per_gpu) : 0) * job.cluster.gpus_per_node,
          .savers = job.cluster.gpus_per_node,
          .async = job.checkpoint && job.checkpoint->async,
          .data = job.dataset.path.empty()           ? ""
                  : is_object_path(job.dataset.path) ? "objects"
                                                     : "files"};
}

std::string setting(const Settings& settings, std::string_view key) {
  const auto found = settings.find(std::string(key));
  return found == settings.end() ? "" : found->second;
}

double setting_number(const Settings& settings, std::string_view key) {
  return std::atof(setting(settings, key).c_str());
}

bool reads_objects(const Settings& settings) {
  return is_object_path(setting(settings, "path")) || setting(settings, "engine") == kObjectEngine;
}

Likeness likeness(const Way& way, std::string_view workload, std::string_view metric, const Settings& settings) {
  Likeness like;
  like.why_not = why_no_answer(way, workload, metric, settings);
  like.answers = like.why_not.empty();
  like.has_way = is_loader(workload) || is_saver(workload);
  if (is_loader(workload)) {
    hold_workers(way, settings, like);
    hold_reads(way, workload, settings, like);
  }
  if (is_saver(workload)) hold_saves(way, settings, like);
  return like;
}

bool says_more(const Likeness& a, double gave_a, const Likeness& b, double gave_b) {
  if (a.distance != b.distance) return a.distance < b.distance;
  return a.has_way ? gave_a < gave_b : gave_a > gave_b;
}

std::string describe_method(const Way& way, std::string_view workload, const Settings& settings) {
  if (is_saver(workload)) {
    const double ranks = setting_number(settings, "ranks");
    const std::string mode = setting(settings, "mode");
    return fmt::format("{:.0f} rank{} at once{}", ranks, ranks == 1 ? "" : "s", mode.empty() ? "" : ", " + mode);
  }
  if (!is_loader(workload)) return "";
  const double workers = setting_number(settings, "workers");
  const bool flying = many_in_flight(settings);
  return fmt::format("{:.0f} {}worker{}{}, {}", workers, flying ? "" : "blocking ", workers == 1 ? "" : "s",
                     flying ? fmt::format(" with {} reads in flight each", setting(settings, "queue_depth")) : "",
                     reported_reads(way, workload, settings));
}

std::string settings_of(const Way& way, std::string_view workload) {
  std::vector<std::string> all;
  const auto add = [&all](std::string_view key, const std::string& value) {
    all.push_back(fmt::format("{}: {}", key, value));
  };
  const auto add_bytes = [&add](std::string_view key, double value) { add(key, fmt::format("{:.0f}B", value)); };
  if (reads_whole_files(way, workload)) add_bytes("file_size", way.file_size);
  if (workload == "shard_stream") add_bytes("sample_size", way.sample_size);
  if (workload == "shard_stream" || workload == "random_read") add_bytes("block_size", way.request_size);
  if (is_loader(workload) && way.workers > 0) add("workers", fmt::format("{:.0f}", way.workers));
  if (has_loader(workload) && way.loader == "in_flight") add("loader", way.loader);
  if (is_saver(workload)) add("ranks", fmt::format("{:.0f}", way.savers));
  if (workload == "checkpoint_write") add("mode", way.async ? "async" : "sync");
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace headrace::job
