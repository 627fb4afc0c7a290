#include "harness/observe/calls/call_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headrace::observe::calls {
namespace {

constexpr std::size_t kMostCalls = 20'000'000;
constexpr int kNoProcess = -1;
constexpr double kLatest_s = 1e11, kLongest_s = 1e9;        // of a call: a greater value was damaged
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;  // the same; Linux gives 2 GiB at most

bool can_be(const Call& call) {
  const bool moves = call.kind == Kind::read || call.kind == Kind::write;
  return std::abs(call.begin_s) <= kLatest_s && call.seconds >= 0 && call.seconds <= kLongest_s &&
         (!moves || (call.bytes <= kMostBytes && call.offset <= kMostBytes * 1024));
}

}  // namespace

double Log::end_s() const {
  double end = 0;
  for (const Call& call : calls) end = std::max(end, call.begin_s + call.seconds);
  return end;
}

std::uint32_t LogBuilder::file(const std::string& path) {
  const auto [known, fresh] = files_.emplace(path, static_cast<std::uint32_t>(log_.files.size()));
  if (fresh) log_.files.push_back(path);
  return known->second;
}

std::uint32_t LogBuilder::process(int pid) {
  const auto [known, fresh] = processes_.emplace(pid, static_cast<std::uint32_t>(log_.processes.size()));
  if (fresh) log_.processes.push_back({.pid = pid});
  return known->second;
}

std::uint32_t LogBuilder::thread(int tid, int pid) {
  const auto [known, fresh] = threads_.emplace(tid, static_cast<std::uint32_t>(log_.threads.size()));
  if (fresh)
    log_.threads.push_back({.tid = tid, .process = process(pid == 0 ? tid : pid), .first = pid == 0 || pid == tid});
  return known->second;
}

void LogBuilder::started(std::uint32_t process, int parent_pid) {
  log_.processes[process].parent = static_cast<int>(this->process(parent_pid));
}

void LogBuilder::belongs(int tid, int pid) {
  Thread& one = log_.threads[thread(tid, pid)];
  const std::uint32_t owner = process(pid);
  if (one.process == owner) return;
  log_.processes[one.process].pid = kNoProcess;
  processes_.erase(tid);
  one.process = owner;
  one.first = false;
}

void LogBuilder::renumber(int from, int to) {
  if (auto node = processes_.extract(from)) {
    log_.processes[node.mapped()].pid = node.key() = to;
    processes_.insert(std::move(node));
  }
  if (auto node = threads_.extract(from)) {
    log_.threads[node.mapped()].tid = node.key() = to;
    threads_.insert(std::move(node));
  }
}

void LogBuilder::add(const Call& call) {
  if (!can_be(call))
    ++impossible_;
  else if (log_.calls.size() < kMostCalls)
    log_.calls.push_back(call);
  else
    ++log_.dropped;
}

Log LogBuilder::take() {
  if (impossible_ > 0)
    log_.notes.push_back(fmt::format("{} call{} left out, whose times or sizes cannot be", impossible_,
                                     impossible_ == 1 ? " was" : "s were"));
  std::vector<std::uint32_t> place;
  std::uint32_t kept = 0;
  for (const Process& one : log_.processes) place.push_back(one.pid == kNoProcess ? kept : kept++);
  for (Process& one : log_.processes)
    if (one.parent >= 0) one.parent = static_cast<int>(place[static_cast<std::size_t>(one.parent)]);
  for (Thread& one : log_.threads) one.process = place[one.process];
  std::erase_if(log_.processes, [](const Process& one) { return one.pid == kNoProcess; });
  std::stable_sort(log_.calls.begin(), log_.calls.end(),
                   [](const Call& a, const Call& b) { return a.begin_s < b.begin_s; });
  if (!log_.calls.empty()) {
    const double first = log_.began_s = log_.calls.front().begin_s;
    for (Call& call : log_.calls) call.begin_s -= first;
  }
  return std::move(log_);
}

}  // namespace headrace::observe::calls
