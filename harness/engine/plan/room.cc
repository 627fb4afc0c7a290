#include "harness/engine/plan/room.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/machine/node.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/workload.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

std::string bytes(std::uint64_t value) { return format_quantity(static_cast<double>(value), Dimension::bytes); }

/// By data set, those that nobody shares under names of their own.
std::map<std::string, std::uint64_t> written_by_set(const Plan& plan) {
  std::map<std::string, std::uint64_t> sets;
  for (const Point& point : plan.points) {
    const Footprint footprint = point.workload->footprint();
    std::uint64_t& size = sets[footprint.data_id.empty() ? "point " + point.id : footprint.data_id];
    size = std::max(size, footprint.written_bytes);
  }
  return sets;
}

}  // namespace

std::uint64_t bytes_to_write(const Plan& plan) {
  std::uint64_t total = 0;
  for (const auto& [set, size] : written_by_set(plan)) total += size;
  return total;
}

void check_room(const Plan& plan) {
  Diagnostics problems;
  std::error_code ignored;
  std::set<std::string> told;
  for (const Point& point : plan.points) {
    const auto given = point.params.find("path");
    const std::string* path = given == point.params.end() ? nullptr : std::get_if<std::string>(&given->second);
    if (path == nullptr || path->empty() || is_object_path(*path) || fs::exists(*path, ignored) ||
        !told.insert(*path).second)
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
  std::uint64_t missing = 0;
  for (const auto& [set, size] : written_by_set(plan))
    if (!fs::exists(fs::path(plan.target_path) / kDataFolder / set, ignored)) missing += size;
  const std::uint64_t free = Node("").free_bytes(plan.target_path);
  if (missing > free)
    problems.error({plan.config_file, 0, 0},
                   fmt::format("target.path: the run would write {}, and only {} are free at {}: name another folder "
                               "(--set target.path=FOLDER), or leave points out (--skip)",
                               bytes(missing), bytes(free), plan.target_path));
  problems.throw_if_any();
}

}  // namespace headrace
