#include "harness/observe/sampling/exact_stills.h"

#include <algorithm>
#include <map>
#include <vector>

#include "harness/observe/data_survey.h"

namespace headrace::observe {
namespace {

/// The growth, each time.
class Growing {
 public:
  void add(double at_s, std::uint64_t more) {
    steps_.push_back({at_s, (steps_.empty() ? 0 : steps_.back().sum) + more});
  }
  std::uint64_t at(double time_s) const {
    const auto after = std::upper_bound(steps_.begin(), steps_.end(), time_s,
                                        [](double time, const Step& step) { return time < step.at_s; });
    return after == steps_.begin() ? 0 : std::prev(after)->sum;
  }

 private:
  struct Step {
    double at_s;
    std::uint64_t sum;
  };
  std::vector<Step> steps_;
};

/// The calls of one process.
struct Read {
  Growing data_bytes;          // of data files
  Growing first_thread_calls;  // reads of any file by its first thread
};

std::map<int, Read> open_reads_of(const calls::Log& log, double offset_s) {
  std::vector<bool> program;
  for (const std::string& file : log.files) program.push_back(is_program_file(file));
  std::map<int, Read> reads;
  for (const calls::Call& call : log.calls) {
    if (call.kind != calls::Kind::read || call.bytes < 0 || call.file == calls::kNoFile) continue;
    const calls::Thread& thread = log.threads[call.thread];
    Read& one = reads[log.processes[thread.process].pid];
    const double end_s = call.begin_s + call.seconds + offset_s;
    if (!program[call.file]) one.data_bytes.add(end_s, static_cast<std::uint64_t>(call.bytes));
    if (thread.first) one.first_thread_calls.add(end_s, 1);
  }
  return reads;
}

bool has_children(const Recording& recording, std::uint32_t process) {
  return std::any_of(recording.processes.begin(), recording.processes.end(),
                     [process](const ProcessSeen& one) { return one.parent == static_cast<int>(process); });
}

}  // namespace

void make_exact(const calls::Log& traced, Recording& recording) {
  if (traced.calls.empty() || traced.dropped > 0 || recording.began_s <= 0) return;
  const std::map<int, Read> reads = open_reads_of(traced, traced.began_s - recording.began_s);
  std::vector<const Read*> of(recording.processes.size(), nullptr);
  std::vector<bool> takes(recording.processes.size());
  for (std::uint32_t p = 0; p < of.size(); ++p) {
    takes[p] = has_children(recording, p);
    if (const auto found = reads.find(recording.processes[p].pid); found != reads.end()) of[p] = &found->second;
  }
  // Calls are counted from when a process began to have children.
  std::vector<std::uint64_t> before(of.size(), 0);
  for (std::uint32_t p = 0; p < of.size(); ++p)
    for (const ProcessSeen& child : recording.processes)
      if (of[p] != nullptr && child.parent == static_cast<int>(p)) {
        before[p] = of[p]->first_thread_calls.at(child.first_s);
        break;
      }
  const auto without_files = [&](std::uint32_t process, std::uint64_t calls, double at_s) {
    if (of[process] == nullptr) return calls;
    const std::uint64_t files = of[process]->first_thread_calls.at(at_s) - before[process];
    return calls > files ? calls - files : 0;
  };
  for (Still& still : recording.stills)
    for (std::size_t i = 0; i < still.count; ++i) {
      Still::Count& one = still.counts[i];
      if (takes[one.process])
        one.value = without_files(one.process, one.value, still.at_s);
      else
        one.value = of[one.process] != nullptr ? of[one.process]->data_bytes.at(still.at_s) : 0;
    }
  for (TakenBy& one : recording.taken) one.calls = without_files(one.process, one.calls, one.at_s);
  recording.reads_exact = true;
}

}  // namespace headrace::observe
