#include "harness/observe/nccl/nccl_inspector.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/deadline.h"
#include "harness/base/system/list_names.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::observe {
namespace {

using nlohmann::json;

constexpr std::size_t kMostInspectorFiles = 512, kInspectorTail = 4 << 20;  // [B] of each
constexpr std::size_t kMostInspectorBytes = 128 << 20, kLongestInspectorLine = 1 << 16;
constexpr int kMostInspectorRanks = 1 << 16;
constexpr double kMostReading = 5, kShortestSpan = 1;  // [s]

std::string text_member(const json& of, const char* key) {
  const auto found = of.is_object() ? of.find(key) : of.end();
  return of.is_object() && found != of.end() && found->is_string() ? found->get<std::string>() : "";
}

double number_member(const json& of, const char* key) {
  const auto found = of.is_object() ? of.find(key) : of.end();
  return of.is_object() && found != of.end() && found->is_number() ? found->get<double>() : -1;
}

/// The last bytes of a regular file, from a whole line on.
std::string tail_of(int folder, const std::string& name) {
  const system::UniqueFd file(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return "";
  const auto size = static_cast<std::size_t>(about.st_size);
  std::string text(std::min(size, kInspectorTail), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t more =
        ::pread(file.get(), text.data() + got, text.size() - got, static_cast<off_t>(size - text.size() + got));
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  text.resize(got);
  if (size > kInspectorTail) text.erase(0, text.find('\n') == text.npos ? text.size() : text.find('\n') + 1);
  return text;
}

/// The same operation on all ranks.
using OperationKey = std::pair<std::string, std::uint64_t>;

}  // namespace

bool parse_inspector_line(std::string_view line, InspectorLine& into) {
  if (line.size() > kLongestInspectorLine) return false;
  const json all = json::parse(line, nullptr, false);
  if (!all.is_object() || !all.contains("header") || !all.contains("metadata") || !all.contains("coll_perf"))
    return false;
  const json &header = all["header"], &about = all["metadata"], &perf = all["coll_perf"];
  into = {.communicator = text_member(header, "id"),
          .kind = text_member(perf, "coll"),
          .host = text_member(about, "hostname")};
  const double rank = number_member(header, "rank"), ranks = number_member(header, "n_ranks"),
               pid = number_member(about, "pid"), count = number_member(perf, "coll_sn"),
               took_us = number_member(perf, "coll_exec_time_us"),
               written_us = number_member(about, "dump_timestamp_us");
  if (into.communicator.empty() || into.host.empty() || !(ranks >= 2 && ranks <= kMostInspectorRanks) ||
      !(rank >= 0 && rank < ranks) || !(pid > 0 && pid <= INT32_MAX) || !(count >= 0 && count < 1e15) ||
      !(took_us >= 0 && took_us < 1e12) || written_us <= 0)
    return false;
  if (into.kind != "AllReduce" && into.kind != "AllGather" && into.kind != "ReduceScatter") return false;
  into.rank = static_cast<int>(rank);
  into.ranks = static_cast<int>(ranks);
  into.pid = static_cast<int>(pid);
  into.number = static_cast<std::uint64_t>(count);
  into.took_s = took_us * 1e-6;
  into.written_s = written_us * 1e-6;
  return true;
}

void gather_inspector(const std::vector<InspectorLine>& lines, const std::set<int>& own, double since_s,
                      NcclSeen& seen) {
  struct Members {
    int size = 0;
    bool own = false;
    std::map<int, NcclTimedRank> ranks;
    std::map<OperationKey, std::map<int, const InspectorLine*>> operations;
  };
  std::map<std::string, Members> all;
  for (const InspectorLine& line : lines) {
    if (line.written_s < since_s) continue;
    Members& of = all[line.communicator];
    if (of.size == 0) of.size = line.ranks;
    if (of.size != line.ranks) continue;
    const bool mine = own.contains(line.pid);
    of.own = of.own || mine;
    of.ranks[line.rank] = {.host = line.host, .pid = line.pid, .own = mine};
    of.operations[{line.kind, line.number}][line.rank] = &line;
  }
  for (const auto& [id, of] : all) {
    if (!of.own) continue;
    const auto size = static_cast<std::size_t>(of.size);
    if (of.ranks.size() < size) {
      seen.facts.push_back(
          fmt::format("NCCL's Inspector has files of {} of {} ranks here: which rank others wait for is not known",
                      of.ranks.size(), size));
      continue;
    }
    NcclTimed timed{.id = id, .ranks = {}};
    for (const auto& [rank, who] : of.ranks) timed.ranks.push_back(who);
    // A rank's first lines may be of operations from long before: time counts from where each has written once. Lines
    // written in one go at the end do not show their times.
    std::map<int, double> first_s;
    double last_s = 0;
    for (const auto& [key, by_rank] : of.operations)
      for (const auto& [rank, line] : by_rank) {
        const auto first = first_s.emplace(rank, line->written_s).first;
        first->second = std::min(first->second, line->written_s);
        last_s = std::max(last_s, line->written_s);
      }
    double begin_s = 0;
    for (const auto& [rank, first] : first_s) begin_s = std::max(begin_s, first);
    timed.span_s = last_s - begin_s >= kShortestSpan ? last_s - begin_s : 0;
    for (const auto& [key, by_rank] : of.operations) {
      if (by_rank.size() < size) continue;
      NcclOperation operation;
      double written_s = INFINITY;
      for (const auto& [rank, line] : by_rank) {
        operation.took_s.push_back(line->took_s);
        written_s = std::min(written_s, line->written_s);
      }
      if (timed.span_s == 0 || written_s > begin_s) timed.operations.push_back(std::move(operation));
    }
    seen.timed.push_back(std::move(timed));
  }
}

void read_inspector(int folder, const std::set<int>& own, double since_s, NcclSeen& seen) {
  const Deadline deadline(kMostReading);
  std::vector<InspectorLine> lines;
  std::size_t bytes = 0, files = 0, left_out = 0;
  std::vector<std::string> names;
  system::list_names(folder, ".", names);
  for (const std::string& name : names) {
    if (!name.ends_with(".log") || name.find("-pid") == name.npos) continue;
    if (files == kMostInspectorFiles || bytes >= kMostInspectorBytes || deadline.over()) {
      ++left_out;
      continue;
    }
    ++files;
    const std::string text = tail_of(folder, name);
    bytes += text.size();
    for (std::string_view rest = text; !rest.empty() && !deadline.over();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (InspectorLine one; parse_inspector_line(line, one)) lines.push_back(std::move(one));
    }
  }
  if (left_out > 0)
    seen.facts.push_back(fmt::format("{} files of NCCL's Inspector were left out: there are too many", left_out));
  gather_inspector(lines, own, since_s, seen);
}

}  // namespace headrace::observe
