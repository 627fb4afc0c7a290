#include "harness/observe/calls/recorded.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/observe/data_survey.h"

namespace headrace::observe::calls {
namespace {

constexpr double kLook = 1e-4;    // [s] of a thread's time that count as one look
constexpr double kSliceS = 0.25;  // as the sampler's
constexpr double kMostSlices = 4000;
constexpr double kMostParts = 1e6;  // of processes in slices: longer slices hold more of each process

Wait wait_of(Kind kind) {
  switch (kind) {
    case Kind::read:
      return Wait::read;
    case Kind::open:
    case Kind::stat:
    case Kind::close:
      return Wait::name;
    case Kind::write:
    case Kind::sync:
    case Kind::change:
      return Wait::write;
    case Kind::take:
    case Kind::give:
    case Kind::hand_over:
      return Wait::hand_over;
    case Kind::sleep:
      return Wait::sleep;
    case Kind::gpu:
      return Wait::gpu;
    case Kind::seek:
    case Kind::map:
    case Kind::other:
      break;
  }
  return Wait::other;
}

/// The state that follows the calls of one process.
struct Following {
  bool has_children = false;
  bool reads_first = false;                      // its first thread has read something since it has children
  std::uint64_t first_calls = 0, all_calls = 0;  // read() of anything, since it has children
  std::uint64_t at_pause = 0, at_look = 0;
  double look_s = 0;
  bool paused = false;
  std::size_t hand_overs = SIZE_MAX;
  std::size_t save = SIZE_MAX;                     // into saves
  std::map<std::uint32_t, std::uint64_t> written;  // by file, in this save
};

class Recorder {
 public:
  explicit Recorder(const Log& log) : log_(log), end_s_(log.end_s()), following_(log.processes.size()) {}

  Recording all() {
    for (const std::string& file : log_.files) program_.push_back(is_program_file(file));
    recording_.elapsed_s = end_s_;
    recording_.machine_seen = false;
    recording_.waits_known = log_.waits_known && log_.durations_known;
    recording_.samples_per_s = 0;
    for (const Process& one : log_.processes)
      recording_.processes.push_back(
          {.pid = one.pid, .parent = one.parent, .name = one.name, .command = one.command, .first_s = end_s_});
    lay_slices(lives());
    find_readers();
    for (const Call& call : log_.calls) take(call);
    for (std::size_t t = 0; t < log_.threads.size(); ++t) fill_between(t, last_[t]);
    files();
    for (const std::string& note : log_.notes) recording_.refused.push_back(note);
    return std::move(recording_);
  }

 private:
  struct Life {
    double first_s, last_s = 0;
  };
  std::vector<Life> lives() const {
    std::vector<Life> all(log_.processes.size(), Life{end_s_});
    for (const Call& call : log_.calls) {
      Life& one = all[log_.threads[call.thread].process];
      one.first_s = std::min(one.first_s, call.begin_s);
      one.last_s = std::max(one.last_s, call.begin_s + call.seconds);
    }
    return all;
  }

  /// Threads that read data, apart from the first of their process.
  void find_readers() {
    reader_.assign(log_.threads.size(), UINT32_MAX);
    for (const Call& call : log_.calls) {
      const Thread& thread = log_.threads[call.thread];
      const bool data = call.kind == Kind::read && call.bytes > 0 && call.file != kNoFile && !program_[call.file];
      if (!data || thread.first || reader_[call.thread] != UINT32_MAX) continue;
      reader_[call.thread] = static_cast<std::uint32_t>(recording_.threads.size());
      recording_.threads.push_back({.process = thread.process, .tid = thread.tid});
    }
  }

  void lay_slices(const std::vector<Life>& lives) {
    double together_s = 0;
    for (const Life& one : lives) together_s += std::max(0.0, one.last_s - one.first_s);
    slice_s_ = std::max({kSliceS, end_s_ / kMostSlices, together_s / kMostParts});
    const auto count = static_cast<std::size_t>(std::ceil(std::max(end_s_, 1e-6) / slice_s_));
    places_.resize(count);
    recording_.slices.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      Slice& slice = recording_.slices[i];
      slice.begin_s = static_cast<double>(i) * slice_s_;
      slice.end_s = std::min(end_s_, slice.begin_s + slice_s_);
    }
    const auto slice_at = [&](double time_s) {
      return std::min(static_cast<std::size_t>(time_s / slice_s_), count - 1);
    };
    for (std::uint32_t p = 0; p < lives.size(); ++p) {
      recording_.processes[p].first_s = std::min(lives[p].first_s, lives[p].last_s);
      recording_.processes[p].last_s = lives[p].last_s;
      for (std::size_t i = slice_at(lives[p].first_s); i <= slice_at(lives[p].last_s); ++i) {
        places_[i].emplace(p, recording_.slices[i].processes.size());
        recording_.slices[i].processes.emplace_back();
        recording_.slices[i].processes.back().process = p;
      }
    }
    last_.assign(log_.threads.size(), -1);
  }

  ProcessSlice* at(double time_s, std::uint32_t process) {
    const auto i = std::min(static_cast<std::size_t>(std::max(0.0, time_s) / slice_s_), places_.size() - 1);
    const auto found = places_[i].find(process);
    return found == places_[i].end() ? nullptr : &recording_.slices[i].processes[found->second];
  }

  /// Adds this part of a thread's time to `wait`, split over its slices.
  void spend(const Thread& thread, Wait wait, double begin_s, double end_s) {
    for (double from = begin_s; from < end_s;) {
      const double border = (std::floor(from / slice_s_ + 1e-9) + 1) * slice_s_, to = std::min(end_s, border);
      if (ProcessSlice* const slice = at(from, thread.process)) {
        // A time shorter than a look counts by its probability to be seen, carried over.
        double& rest = rests_[{thread.process, thread.first, wait}];
        rest += (to - from) / kLook;
        const double whole = std::floor(rest);
        rest -= whole;
        (thread.first ? slice->lead : slice->others)[static_cast<std::size_t>(wait)] +=
            static_cast<std::uint32_t>(whole);
        if (const std::uint32_t reader = reader_[static_cast<std::size_t>(&thread - log_.threads.data())];
            reader != UINT32_MAX)
          part_of(*slice, reader)[static_cast<std::size_t>(wait)] += static_cast<std::uint32_t>(whole);
      }
      from = to;
    }
  }

  static WaitCounts& part_of(ProcessSlice& slice, std::uint32_t reader) {
    for (ThreadSlice& one : slice.threads)
      if (one.thread == reader) return one.waits;
    return slice.threads.emplace_back(ThreadSlice{.thread = reader}).waits;
  }

  void fill_between(std::size_t thread, double since) {
    const Thread& one = log_.threads[thread];
    if (since < 0 || !one.first) return;
    const double until = recording_.processes[one.process].last_s;
    if (until > since) spend(one, log_.waits_known ? Wait::running : Wait::other, since, until);
  }

  void take(const Call& call) {
    const Thread& thread = log_.threads[call.thread];
    double& last = last_[call.thread];
    if (last >= 0 && call.begin_s > last)
      spend(thread, log_.waits_known ? Wait::running : Wait::other, last, call.begin_s);
    // Calls that wait for nothing that is known are the kernel's computing.
    const Wait wait = wait_of(call.kind);
    spend(thread, wait == Wait::other && log_.waits_known ? Wait::running : wait, std::max(last, call.begin_s),
          call.begin_s + call.seconds);
    last = std::max(last, call.begin_s + call.seconds);
    count(call, thread);
    if (call.kind == Kind::write && call.bytes > 0 && call.file != kNoFile) follow_save(call, thread);
  }

  void count(const Call& call, const Thread& thread) {
    Following& one = following_[thread.process];
    ProcessSlice* const slice = at(call.begin_s + call.seconds, thread.process);
    const bool moved = call.bytes > 0;
    if (call.kind == Kind::read || call.kind == Kind::take) {
      if (slice != nullptr) {
        ++slice->counted.read_calls;
        // The kernel's own count has programs, libraries and pipes in it, too: here it can be had without.
        if (moved && call.file != kNoFile && !program_[call.file])
          slice->counted.read_calls_bytes += static_cast<std::uint64_t>(call.bytes);
      }
      one.all_calls += 1;
      one.first_calls += thread.first;
    }
    if ((call.kind == Kind::write || call.kind == Kind::give) && slice != nullptr) {
      ++slice->counted.write_calls;
      slice->counted.write_calls_bytes += moved ? static_cast<std::uint64_t>(call.bytes) : 0;
    }
    if (!thread.first) return;
    const int parent = log_.processes[thread.process].parent;
    if (parent >= 0 && !following_[static_cast<std::size_t>(parent)].has_children) {
      Following& above = following_[static_cast<std::size_t>(parent)];
      above.has_children = true;  // its earlier reads were not handed over
      above.first_calls = above.all_calls = above.at_pause = above.at_look = 0;
    }
    const bool pauses = call.kind == Kind::sleep || call.kind == Kind::gpu;
    if (one.has_children && slice != nullptr) {
      if (pauses && !one.paused) paused(one, *slice, thread.process);
      if (call.begin_s >= one.look_s) looked(one, *slice, thread.process, call.begin_s);
    } else if (pauses && !one.paused && slice != nullptr) {
      ++slice->pauses;
    }
    one.paused = pauses;
  }

  HandOvers& hand_overs(Following& one, std::uint32_t process) {
    if (one.hand_overs == SIZE_MAX) {
      one.hand_overs = recording_.hand_overs.size();
      recording_.hand_overs.push_back({.process = process, .jumps = {}, .by_pause = {}});
    }
    return recording_.hand_overs[one.hand_overs];
  }

  /// Where its first thread makes none, a thread of its own takes batches.
  static std::uint64_t taken(const Following& one) { return one.first_calls > 0 ? one.first_calls : one.all_calls; }

  void paused(Following& one, ProcessSlice& slice, std::uint32_t process) {
    ++slice.pauses;
    const std::uint64_t calls = taken(one), jump = calls - std::min(calls, one.at_pause);
    const bool first = one.at_pause == 0;
    one.at_pause = calls;
    if (jump == 0) return;
    ++slice.takes;
    if (first || jump > kMostJump) {
      ++slice.first_takes;
      return;
    }
    slice.taken_calls += jump;
    ++hand_overs(one, process).by_pause[static_cast<std::uint32_t>(jump)];
  }

  void looked(Following& one, ProcessSlice& slice, std::uint32_t process, double now_s) {
    const std::uint64_t calls = taken(one), jump = calls - std::min(calls, one.at_look);
    if (jump > 0 && jump <= kMostJump) {
      ++hand_overs(one, process).jumps[static_cast<std::uint32_t>(jump)];
      slice.looked_calls += jump;
    }
    one.at_look = calls;
    one.look_s = now_s + 0.01;
  }

  void follow_save(const Call& call, const Thread& thread) {
    if (program_[call.file]) return;
    Following& one = following_[thread.process];
    const double end_s = call.begin_s + call.seconds;
    if (one.save == SIZE_MAX || call.begin_s - saves_[one.save].end_s > kSaveOver) {
      one.save = saves_.size();
      one.written.clear();
      saves_.push_back({.process = thread.process, .begin_s = call.begin_s});
    }
    SaveSeen& save = saves_[one.save];
    save.end_s = std::max(save.end_s, end_s);
    save.bytes += static_cast<std::uint64_t>(call.bytes);
    save.lead_bytes += thread.first ? static_cast<std::uint64_t>(call.bytes) : 0;
    std::uint64_t& written = one.written[call.file];
    written += static_cast<std::uint64_t>(call.bytes);
    if (written * 2 > save.bytes) save.path = log_.files[call.file];
  }

  void files() {
    std::vector<FileSeen> seen(log_.files.size());
    std::vector<std::uint64_t> place(log_.files.size(), 0);
    for (const Call& call : log_.calls) {
      if (call.file == kNoFile || call.bytes < 0) continue;
      FileSeen& one = seen[call.file];
      const auto more = [](std::uint32_t& count) { count += count < UINT32_MAX; };
      if (call.kind == Kind::read) {
        more(one.read);
        const std::uint64_t from = call.offset >= 0 ? static_cast<std::uint64_t>(call.offset) : place[call.file];
        const std::uint64_t to = from + static_cast<std::uint64_t>(call.bytes);
        one.extent = std::max(one.extent, to);
        if (call.offset < 0) place[call.file] = to;
        if (call.asked > 0 && !program_[call.file]) ++recording_.read_sizes[call.asked];
        one.process = log_.threads[call.thread].process;
        if (one.first_s == 0) one.first_s = call.begin_s;
        one.last_s = call.begin_s + call.seconds;
      } else if (call.kind == Kind::write) {
        more(one.written);
      } else if (call.kind == Kind::open) {
        place[call.file] = 0;
        if (call.to_read) more(one.open);
      } else if (call.kind == Kind::seek) {
        place[call.file] = static_cast<std::uint64_t>(std::max<std::int64_t>(0, call.offset));
      }
    }
    for (std::size_t f = 0; f < seen.size(); ++f)
      if (seen[f].read + seen[f].written > 0) {
        seen[f].path = log_.files[f];
        recording_.files.push_back(std::move(seen[f]));
      }
    for (SaveSeen& save : saves_)
      if (save.bytes >= kLeastSave && !save.path.empty()) recording_.saves.push_back(std::move(save));
  }

  struct Rest {
    std::uint32_t process;
    bool first;
    Wait wait;
    auto operator<=>(const Rest&) const = default;
  };

  const Log& log_;
  const double end_s_;
  double slice_s_ = kSliceS;
  std::vector<bool> program_;          // by file
  std::vector<std::uint32_t> reader_;  // by thread: into Recording::threads; UINT32_MAX: it reads no data
  Recording recording_;
  std::vector<std::map<std::uint32_t, std::size_t>> places_;  // by slice: where a process's part of it is
  std::vector<double> last_;                                  // by thread: when its last call ended; below 0: none yet
  std::map<Rest, double> rests_;
  std::vector<Following> following_;
  std::vector<SaveSeen> saves_;
};

}  // namespace

Recording recorded(const Log& log) { return Recorder(log).all(); }

}  // namespace headrace::observe::calls
