#include "harness/sizing/likeness.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "harness/units.h"

namespace headrace::sizing {
namespace {

using requirements::Job;
using requirements::Layout;
using results::StoredPoint;

bool is_alike(double a, double b, double within) { return a > 0 && b > 0 && a <= b * within && b <= a * within; }

/// Do the settings below make a difference to it? Those of savers and of memory are their own.
bool is_loader(const StoredPoint& point) {
  for (const char* one : {"small_file_read", "shard_stream", "random_read", "epochs", "metadata"})
    if (point.workload == one) return true;
  return false;
}

/// Is what it reads as large as what the job reads? Within a tenth: file sizes are means.
bool size_answers(const Job& job, const StoredPoint& point) {
  constexpr double kAlike = 1.1;
  const bool own_data = !parameter(point, "path").empty();  // the user's files, as they are
  const bool whole_files =
      point.workload == "small_file_read" || (point.workload == "epochs" && job.dataset.layout == Layout::files);
  if (whole_files && !own_data)
    return is_alike(number(point, "file_size"), job.dataset.sample_size * job.dataset.samples_per_file, kAlike);
  if (point.workload == "random_read") return is_alike(number(point, "block_size"), job.dataset.request_size, kAlike);
  return true;
}

void hold_workers(const Job& job, const StoredPoint& point, Likeness& like) {
  constexpr double kAlike = 1.25;
  const double planned = planned_workers(job), had = number(point, "workers");
  if (planned <= 0 || had <= 0) return;
  like.distance += std::abs(std::log2(had / planned));
  if (is_alike(had, planned, kAlike)) return;
  like.differs.push_back(fmt::format("{:.0f} reading workers per node, the job has {:.0f}", had, planned));
  (had > planned ? like.more : like.less) = true;
}

void hold_reads(const Job& job, const StoredPoint& point, Likeness& like) {
  if (parameter(point, "engine") == "io_uring") {
    like.distance += 2;
    like.more = true;
    like.less = false;
    like.differs.push_back(fmt::format("{} reads in flight per worker (io_uring), a loader's workers wait for each",
                                       parameter(point, "queue_depth")));
  }
  // What reads whole files reads each in one request, however large it may be.
  const double block = number(point, "block_size");
  if (block > 0 && job.dataset.layout != Layout::files) {
    like.distance += std::abs(std::log2(block / job.dataset.request_size)) / 4;
    if (!is_alike(block, job.dataset.request_size, 1.1))
      like.differs.push_back(fmt::format("requests of {}, the job's are {}", compact_quantity(block, Dimension::bytes),
                                         compact_quantity(job.dataset.request_size, Dimension::bytes)));
  }
  if (parameter(point, "direct") == "true") {
    like.distance += 1;
    like.differs.push_back("direct reads, a loader's go through the page cache");
  }
}

void hold_saves(const Job& job, const StoredPoint& point, Likeness& like) {
  const double ranks = number(point, "ranks"), planned = job.cluster.gpus_per_node;
  if (ranks > 0) {
    like.distance += std::abs(std::log2(ranks / planned)) / 4;
    if (ranks != planned)
      like.differs.push_back(fmt::format("{:.0f} ranks per node, the job has {:.0f}", ranks, planned));
  }
  const std::string mode = parameter(point, "mode");
  const bool async = job.checkpoint && job.checkpoint->async;
  if (mode.empty() || (mode == "async") == async) return;
  like.distance += 4;
  like.differs.push_back(fmt::format("mode {}, the job saves {}", mode, async ? "async" : "sync"));
}

}  // namespace

double planned_workers(const Job& job) { return job.loader.workers_per_gpu.value_or(0) * job.cluster.gpus_per_node; }

std::string parameter(const StoredPoint& point, std::string_view key) {
  const auto found = point.params.find(std::string(key));
  return found == point.params.end() ? "" : found->second;
}

double number(const StoredPoint& point, std::string_view key) { return std::atof(parameter(point, key).c_str()); }

Likeness likeness(const Job& job, const StoredPoint& point) {
  Likeness like;
  like.answers = size_answers(job, point);
  if (is_loader(point)) {
    hold_workers(job, point, like);
    hold_reads(job, point, like);
  }
  if (point.workload.starts_with("checkpoint_")) hold_saves(job, point, like);
  return like;
}

}  // namespace headrace::sizing
