#include "harness/observe/replay/plan.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "harness/observe/data_survey.h"

namespace headrace::observe::replay {
namespace {

namespace fs = std::filesystem;
using calls::Call;
using calls::Kind;

/// The deepest folder above all of them.
fs::path common_folder(const std::vector<PlannedFile>& files) {
  fs::path common = fs::path(files.front().path).parent_path();
  for (const PlannedFile& file : files)
    while (!common.empty() && common != common.parent_path() &&
           fs::path(file.path).lexically_relative(common).string().starts_with(".."))
      common = common.parent_path();
  return common;
}

/// Which of the log's files are data: read, and never written.
std::vector<bool> data_files(const calls::Log& log) {
  std::vector<bool> read(log.files.size()), written(log.files.size());
  for (const Call& call : log.calls) {
    if (call.file == calls::kNoFile || call.bytes < 0) continue;
    if (call.kind == Kind::read && call.bytes > 0) read[call.file] = true;
    if (call.kind == Kind::write) written[call.file] = true;
  }
  for (std::size_t f = 0; f < read.size(); ++f)
    read[f] = read[f] && !written[f] && log.files[f].starts_with("/") && !is_program_file(log.files[f]);
  return read;
}

Op op_of(Kind kind) {
  return kind == Kind::open   ? Op::open
         : kind == Kind::read ? Op::read
         : kind == Kind::seek ? Op::seek
         : kind == Kind::stat ? Op::stat
                              : Op::close;
}

/// One thread's work, as its calls come.
struct Following {
  double end_s = -1;                              // of its last call
  double think_s = 0;                             // since its last access
  double gaps_s = 0;                              // between calls, since its processor time was asked for last
  std::map<std::uint32_t, std::uint64_t> places;  // the descriptors' offsets, by file
};

/// Why it is not repeated; "" where it is, or where it makes no difference.
std::string left_out(const Call& call, bool data, bool writes) {
  if (call.kind == Kind::write && call.bytes > 0 && call.file != calls::kNoFile)
    return writes ? "writes to files of less than 1 MiB" : "writes";
  if (!data) return "";
  if (call.bytes < 0) return "calls that failed";
  if (call.kind == Kind::map) return "files that were mapped: which pages were fetched is in no trace";
  if (call.kind == Kind::change) return "renaming and removing";
  if (call.kind == Kind::sync) return "syncing";
  return "";
}

bool is_access(Kind kind) {
  return kind == Kind::open || kind == Kind::read || kind == Kind::seek || kind == Kind::stat || kind == Kind::close;
}

/// The written files, each by a number; a rename leads to the same one.
class Saves {
 public:
  Saves(const calls::Log& log, bool wanted) : numbers_(log.files.size(), UINT32_MAX) {
    std::vector<std::uint64_t> bytes(log.files.size());
    for (const Call& call : log.calls)
      if (call.kind == Kind::write && call.bytes > 0 && call.file != calls::kNoFile)
        bytes[call.file] += static_cast<std::uint64_t>(call.bytes);
    for (std::uint32_t f = 0; wanted && f < bytes.size(); ++f)
      if (bytes[f] >= kLeastSave && log.files[f].starts_with("/") && !is_program_file(log.files[f])) {
        numbers_[f] = static_cast<std::uint32_t>(files_.size());
        files_.push_back({.path = log.files[f], .below = {}, .bytes = 0});
        places_.push_back(0);
      }
  }

  /// Nothing: it is no part of a save.
  std::optional<Step> step(const calls::Log& log, const Call& call) {
    if (call.file == calls::kNoFile || call.bytes < 0 || numbers_[call.file] == UINT32_MAX) return std::nullopt;
    const std::uint32_t number = numbers_[call.file];
    Step step{.file = number, .observed_s = call.seconds, .at_s = call.begin_s};
    switch (call.kind) {
      case Kind::open:
        if (call.to_read) return std::nullopt;
        step.op = Op::create;
        places_[number] = 0;
        return step;
      case Kind::write: {
        step.op = Op::write;
        step.bytes = static_cast<std::uint64_t>(call.bytes);
        step.offset = call.offset;
        const std::uint64_t from = call.offset >= 0 ? static_cast<std::uint64_t>(call.offset) : places_[number];
        if (call.offset < 0) places_[number] = from + step.bytes;
        files_[number].bytes = std::max(files_[number].bytes, from + step.bytes);
        return step;
      }
      case Kind::sync:
        step.op = Op::sync;
        return step;
      case Kind::close:
        step.op = Op::close;
        return step;
      case Kind::change:
        if (call.renamed_to == calls::kNoFile) return std::nullopt;
        step.op = Op::publish;
        files_[number].path = log.files[call.renamed_to];
        return step;
      default:
        return std::nullopt;
    }
  }
  std::vector<PlannedFile> files() { return std::move(files_); }

 private:
  std::vector<std::uint32_t> numbers_;  // of each of the log's files
  std::vector<PlannedFile> files_;
  std::vector<std::uint64_t> places_;  // where a descriptor is
};

void add(PlannedThread& to, const Step& step, const Call& call) {
  if (to.steps.empty()) to.first_s = call.begin_s;
  to.last_s = std::max(to.last_s, call.begin_s + call.seconds);
  to.steps.push_back(step);
}

}  // namespace

std::uint64_t Plan::bytes() const {
  std::uint64_t sum = 0;
  for (const PlannedFile& file : files) sum += file.bytes;
  for (const PlannedFile& file : saves) sum += 2 * file.bytes;  // the one before is there until the next is whole
  return sum;
}

std::size_t Plan::readers() const {
  return static_cast<std::size_t>(
      std::count_if(threads.begin(), threads.end(), [](const PlannedThread& one) { return !one.writes; }));
}

Plan plan(const calls::Log& log, bool writes) {
  Plan made;
  Saves saves(log, writes);
  const std::vector<bool> data = data_files(log);
  std::vector<std::uint32_t> place(log.files.size(), UINT32_MAX);
  for (std::uint32_t f = 0; f < data.size(); ++f)
    if (data[f]) {
      place[f] = static_cast<std::uint32_t>(made.files.size());
      made.files.push_back({.path = log.files[f], .below = {}, .bytes = 0});
    }
  std::vector<Following> following(log.threads.size());
  std::vector<PlannedThread> threads(log.threads.size()), writers(log.threads.size());
  double first_s = 0, last_s = 0;
  bool any = false;
  const bool processor_known =
      std::any_of(log.calls.begin(), log.calls.end(), [](const Call& call) { return call.processor_s >= 0; });
  for (const Call& call : log.calls) {
    Following& thread = following[call.thread];
    const double gap = thread.end_s >= 0 ? std::max(0.0, call.begin_s - thread.end_s) : 0;
    // Between two calls a thread computes, or waits: its own processor time reports, or the waits among the calls do.
    thread.gaps_s += gap;
    if (call.processor_s >= 0) {
      thread.think_s += std::min(thread.gaps_s, call.processor_s);
      thread.gaps_s = 0;
    } else if (!processor_known && log.waits_known) {
      thread.think_s += gap;
    }
    thread.end_s = std::max(thread.end_s, call.begin_s + call.seconds);
    const bool own = call.file != calls::kNoFile && data[call.file];
    if (const std::optional<Step> step = saves.step(log, call)) {
      add(writers[call.thread], *step, call);
      continue;
    }
    if (const std::string why = left_out(call, own, writes); !why.empty()) {
      ++made.left_out[why];
      continue;
    }
    if (!own || !is_access(call.kind)) {
      if (call.kind == Kind::other && log.waits_known) thread.think_s += call.seconds;
      continue;
    }
    PlannedThread& to = threads[call.thread];
    const std::uint32_t file = place[call.file];
    add(to,
        {.op = op_of(call.kind),
         .file = file,
         .bytes =
             call.kind == Kind::read ? std::max<std::uint64_t>(call.asked, static_cast<std::uint64_t>(call.bytes)) : 0,
         .got = call.kind == Kind::read ? static_cast<std::uint64_t>(call.bytes) : 0,
         .offset = call.kind == Kind::read || call.kind == Kind::seek ? call.offset : -1,
         .think_s = thread.think_s,
         .observed_s = call.seconds},
        call);
    thread.think_s = 0;
    if (!any) first_s = call.begin_s;
    any = true;
    last_s = std::max(last_s, call.begin_s + call.seconds);
    std::uint64_t& at = thread.places[file];
    if (call.kind == Kind::open) at = 0;
    if (call.kind == Kind::seek) at = static_cast<std::uint64_t>(std::max<std::int64_t>(0, call.offset));
    if (call.kind == Kind::read) {
      const std::uint64_t from = call.offset >= 0 ? static_cast<std::uint64_t>(call.offset) : at;
      made.files[file].bytes = std::max(made.files[file].bytes, from + static_cast<std::uint64_t>(call.bytes));
      if (call.offset < 0) at = from + static_cast<std::uint64_t>(call.bytes);
    }
  }
  for (std::size_t t = 0; t < threads.size(); ++t) {
    threads[t].pid = writers[t].pid = log.processes[log.threads[t].process].pid;
    if (!threads[t].steps.empty()) made.threads.push_back(std::move(threads[t]));
  }
  for (PlannedThread& writer : writers) {
    if (writer.steps.empty()) continue;
    writer.writes = true;
    for (Step& step : writer.steps) step.at_s -= first_s;
    made.threads.push_back(std::move(writer));
  }
  made.saves = saves.files();
  if (!made.files.empty()) {
    const fs::path folder = common_folder(made.files);
    made.folder = folder.string();
    for (PlannedFile& file : made.files) file.below = fs::path(file.path).lexically_relative(folder).string();
  }
  made.observed_s = last_s - first_s;
  made.think_known = processor_known || log.waits_known;
  if (log.dropped > 0) made.left_out["calls that there was no room for in the trace"] = log.dropped;
  return made;
}

}  // namespace headrace::observe::replay
