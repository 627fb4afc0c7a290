#include "harness/engine/plan/room.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "harness/base/data_path.h"
#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/machine/node.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/workload.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

std::string bytes(std::uint64_t value) { return format_quantity(static_cast<double>(value), Dimension::bytes); }

struct Written {
  std::uint64_t bytes = 0, files = 0;
};

/// By data set, those that nobody shares under names of their own.
std::map<std::string, Written> written_by_set(const Plan& plan) {
  std::map<std::string, Written> sets;
  for (const Point& point : plan.points) {
    const Footprint footprint = point.workload->footprint();
    Written& set = sets[footprint.data_id.empty() ? "point " + point.id : footprint.data_id];
    set.bytes = std::max(set.bytes, footprint.written_bytes);
    set.files = std::max(set.files, footprint.written_files);
  }
  return sets;
}

}  // namespace

std::uint64_t bytes_to_write(const Plan& plan) {
  std::uint64_t total = 0;
  for (const auto& [set, written] : written_by_set(plan)) total += written.bytes;
  return total;
}

void check_room(const Plan& plan) {
  Diagnostics problems;
  std::error_code ignored;
  std::set<std::string> reported;
  for (const Point& point : plan.points) {
    const auto given = point.params.find("path");
    const std::string* path = given == point.params.end() ? nullptr : std::get_if<std::string>(&given->second);
    if (path == nullptr || path->empty() || is_object_path(*path) || is_data_at(*path) ||
        !reported.insert(*path).second)
      continue;
    problems.error(point.where, fmt::format("{}: path: nothing is at {}", point.info->name, *path));
  }
  const std::uint64_t all = bytes_to_write(plan);
  if (plan.max_write > 0 && all > plan.max_write)
    problems.error({plan.config_file, 0, 0},
                   fmt::format("target.max_write: the run would write {}, and max_write allows {}: allow more (--set "
                               "target.max_write={}B), or leave points out (--skip)",
                               bytes(all), bytes(plan.max_write), all));
  if (is_object_path(plan.target_path)) return problems.throw_if_any();  // nobody knows what is free there
  std::uint64_t missing = 0, files = 0;
  for (const auto& [set, written] : written_by_set(plan))
    if (!fs::exists(fs::path(plan.target_path) / kDataFolder / set, ignored))
      missing += written.bytes, files += written.files;
  const Node node("");
  const std::uint64_t free = node.free_bytes(plan.target_path), inodes = node.free_inodes(plan.target_path);
  if (files > inodes)
    problems.error(
        {plan.config_file, 0, 0},
        fmt::format("target.path: the run would make {} files and folders, and {} has only {} inodes left: name "
                    "another folder (--set target.path=FOLDER), or leave points out (--skip)",
                    files, plan.target_path, inodes));
  if (missing > free)
    problems.error({plan.config_file, 0, 0},
                   fmt::format("target.path: the run would write {}, and only {} are free at {}: name another folder "
                               "(--set target.path=FOLDER), or leave points out (--skip)",
                               bytes(missing), bytes(free), plan.target_path));
  problems.throw_if_any();
}

}  // namespace headrace
