// Commands that would measure more, on the storage and with the configuration that were used.
#include <fmt/format.h>

#include <algorithm>

#include "harness/analysis/sizing/parts.h"
#include "harness/base/escape.h"
#include "harness/job/need_kinds.h"

namespace headrace::sizing {
namespace {

using job::Layout;
using results::StoredPoint;
using results::StoredRun;

constexpr const char* kConfig = "configs/sizing.yaml";

const char* reader_of(Layout layout) {
  switch (layout) {
    case Layout::files:
      return "small_file_read";
    case Layout::shards:
      return "shard_stream";
    case Layout::tokens:
      return "random_read";
  }
  return "";
}

}  // namespace

std::string Commands::measure(std::string_view phase) const {
  const std::string workload = phase == "metadata"             ? "metadata"
                               : phase == "steady_epoch"       ? "epochs"
                               : phase == "checkpoint_save"    ? "checkpoint_write"
                               : phase == "checkpoint_restore" ? "checkpoint_read"
                               : phase == "host_memory"        ? "memory_copy"
                                                               : reader_of(job_.dataset.layout);
  return measure_points(workload, workload + "*", job::need_kind(kind_of(phase).need).cache);
}

std::string Commands::measure_points(const std::string& workload, const std::string& only,
                                     std::string_view cache) const {
  const auto answers = [&](const StoredPoint& p) {
    return p.workload == workload && (cache.empty() || p.cache == cache);
  };
  // A configuration of the user's that has such a point measures it where the user wants it.
  for (const Session& session : sessions_)
    for (const StoredRun* run : session)
      if (!run->config_file.empty() && std::ranges::any_of(run->points, answers)) return measuring(*run, only);
  const auto& path = sessions_.empty() ? std::string() : sessions_.front().front()->target;
  return fmt::format("headrace run -c {} --job {}{} --only {}", kConfig, shell_word(job_file_),
                     path.empty() ? "" : " --set " + shell_word("target.path=" + path), shell_word(only));
}

/// As the run was measured, for this job. Points that followed from a job follow from this one in the same manner.
std::string Commands::measuring(const StoredRun& run, const std::string& only) const {
  if (!run.from_job_by.empty())
    return fmt::format("headrace {} {}{} --only {}", shell_word(run.from_job_by), shell_word(job_file_),
                       run.target.empty() ? "" : " --at " + shell_word(run.target), shell_word(only));
  return fmt::format("headrace run -c {} --job {} --only {}",
                     shell_word(run.config_file.empty() ? kConfig : run.config_file), shell_word(job_file_),
                     shell_word(only));
}

std::string Commands::again(const Measurement& m) const { return measuring(m.run(), m.point().id); }

std::string Commands::size_with(const std::vector<std::string>& set) const {
  std::string out = "headrace size " + shell_word(job_file_);
  for (const std::string& one : set) out += " --set " + shell_word(one);
  out += " --runs";
  for (const Session& session : sessions_)
    for (const StoredRun* run : session) out += " " + shell_word(run->path);
  return out;
}

}  // namespace headrace::sizing
