#include "harness/engine/plan/room.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "harness/backends/buffers.h"
#include "harness/base/data_path.h"
#include "harness/base/object_path.h"
#include "harness/base/system/direct_alignment.h"
#include "harness/base/system/open_quiet.h"
#include "harness/base/units.h"
#include "harness/machine/node.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/data/storage_params.h"
#include "harness/workload/workload.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

std::string bytes(std::uint64_t value) { return format_quantity(static_cast<double>(value), Dimension::bytes); }

struct Written {
  std::uint64_t bytes = 0, files = 0;
};

/// By data set; sets that are not shared under names of their own.
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

template <class T>
T param(const Point& point, const char* name, T otherwise) {
  const auto found = point.params.find(name);
  const T* value = found == point.params.end() ? nullptr : std::get_if<T>(&found->second);
  return value == nullptr ? otherwise : *value;
}

/// Direct I/O in another unit than that of the storage fails at the first block.
void check_sectors(const Plan& plan, const Point& point, Diagnostics& problems) {
  if (!param(point, "direct", false)) return;
  const std::string given = param(point, "path", std::string());
  fs::path at = given.empty() ? plan.target_path : given;
  std::error_code ignored;
  while (!fs::exists(at, ignored) && at.has_relative_path()) at = at.parent_path();
  const auto fd = system::open_quiet(AT_FDCWD, at.c_str(), O_NONBLOCK);
  const std::uint64_t unit = fd ? system::direct_alignment(fd.get()) : 0;
  if (unit == 0) return;
  if (fs::is_block_file(at, ignored)) {
    for (const char* name : {"block_size", "alignment"})
      if (const auto value = param(point, name, unit);
          value % unit != 0 && (name[0] == 'b' || value != param(point, "block_size", unit)))
        problems.error(
            point.where,
            fmt::format("{}: {}: direct I/O of {} is in multiples of its sectors of {} bytes: {} is the nearest",
                        point.info->name, name, at.string(), unit, nearest_multiple(value, unit)));
    return;
  }
  if (kPage % unit != 0)  // as the rest at the end of files
    problems.error(
        point.where,
        fmt::format("{}: direct: {} takes direct I/O in multiples of its sectors of {} bytes only, and ends of "
                    "files are read and written in {} bytes: leave direct out",
                    point.info->name, at.string(), unit, kPage));
}

/// The user's data are only read: neither generated data nor results come to lie among them.
void check_apart(const Plan& plan, const std::string& run_folder, Diagnostics& problems) {
  const bool writes = bytes_to_write(plan) > 0 && !is_object_path(plan.target_path);
  std::set<std::string> checked;
  for (const Point& point : plan.points) {
    const std::string path = param(point, "path", std::string());
    if (path.empty() || is_object_path(path) || !checked.insert(path).second) continue;
    if (writes && lies_in(place_of(plan.target_path), place_of(path)))
      problems.error(
          {plan.config_file, 0, 0},
          fmt::format("target.path: the scratch folder {} lies in the data {}: name another one (--at FOLDER)",
                      plan.target_path, path));
    const auto holds_run = [&](const fs::path& data) { return lies_in(place_of(run_folder), data); };
    if (!run_folder.empty() && std::ranges::any_of(places_of_data(path), holds_run))
      problems.error({"--out", 0, 0},
                     fmt::format("the run folder would lie in the data: {} in {}: name another one (--out FOLDER), or "
                                 "start from another folder",
                                 run_folder, path));
  }
}

}  // namespace

std::uint64_t bytes_to_write(const Plan& plan) {
  std::uint64_t total = 0;
  for (const auto& [set, written] : written_by_set(plan)) total += written.bytes;
  return total;
}

void check_room(const Plan& plan, const std::string& run_folder) {
  Diagnostics problems;
  std::error_code ignored;
  std::set<std::string> reported;
  for (const Point& point : plan.points) {
    check_sectors(plan, point, problems);
    const auto given = point.params.find("path");
    const std::string* path = given == point.params.end() ? nullptr : std::get_if<std::string>(&given->second);
    if (path == nullptr || path->empty() || is_object_path(*path) || is_data_at(*path) ||
        !reported.insert(*path).second)
      continue;
    problems.error(point.where, fmt::format("{}: path: nothing is at {}", point.info->name, *path));
  }
  check_apart(plan, run_folder, problems);
  const std::uint64_t all = bytes_to_write(plan);
  if (plan.max_write > 0 && all > plan.max_write)
    problems.error({plan.config_file, 0, 0},
                   fmt::format("target.max_write: the run would write {}, and max_write allows {}: allow more "
                               "(--max-write {}B), or leave points out",
                               bytes(all), bytes(plan.max_write), all));
  if (is_object_path(plan.target_path)) return problems.throw_if_any();  // the free space there is unknown
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
                    "another folder (--at FOLDER), or leave points out",
                    files, plan.target_path, inodes));
  if (missing > free)
    problems.error({plan.config_file, 0, 0},
                   fmt::format("target.path: the run would write {}, and only {} are free at {}: name another folder "
                               "(--at FOLDER), or leave points out",
                               bytes(missing), bytes(free), plan.target_path));
  problems.throw_if_any();
}

}  // namespace headrace
