// Further threads of a process: their work, the first thread's work between its reads, and which files they all read.
#include <algorithm>
#include <bit>

#include "harness/base/clock.h"
#include "harness/base/counters.h"
#include "harness/observe/data_survey.h"
#include "harness/observe/sampling/sampler.h"
#include "harness/observe/sampling/sampler_watched.h"

namespace headrace::observe {
namespace {

constexpr std::uint64_t kBringsBytes = 64 << 10,
                        kBringsCalls = 20;  // read by a thread: fewer may be words of a library
constexpr std::uint32_t kBringsLooks = 3;   // at which it waited for storage
constexpr std::uint32_t kBesideLooks = 5;   // at which it ran while the first thread paused, and ...
constexpr double kBeside = 0.05;            // ... of all looks while that paused
constexpr std::uint64_t kSomeBytes = 512;   // that the first thread reads: less is a word
constexpr std::size_t kMostThreads = 4096;  // that are kept
constexpr double kBecoming = 0.5;           // younger processes are about to run the requested program [s]

constexpr std::size_t at(Wait wait) { return static_cast<std::size_t>(wait); }

/// Looks at which a thread did anything but wait for others.
double active(const WaitCounts& waits) {
  return total(waits) - of(waits, Wait::hand_over) - of(waits, Wait::sleep) - of(waits, Wait::other);
}

}  // namespace

void Sampler::look_at_others(Watched& one) {
  std::vector<ThreadFiles>& threads = one.files.threads();
  if (threads.size() < 2) return;
  const bool waits = one.lead_wait == Wait::hand_over,
             pauses = one.lead_wait == Wait::sleep || one.lead_wait == Wait::gpu;
  one.pause_looks += pauses;
  bool computes = false;
  Wait behind = Wait::hand_over;
  for (std::size_t t = 1; t < threads.size(); ++t) {
    std::string_view path;
    const Wait wait = wait_of_thread(one, t, path);
    ThreadFiles& thread = threads[t];
    ++one.slice.others[at(wait)];
    ++thread.waits[at(wait)];
    if (is_storage(wait)) note_path(path, wait, one.index);
    if (wait == Wait::write && one.saving) one.last_written_s = std::max(one.last_written_s, seconds(now_ns()));
    const bool reads = wait == Wait::fault || (wait == Wait::read && !is_program_file(path));
    thread.on_storage += reads;
    if (wait == Wait::running && pauses) ++thread.beside;
    if (wait == Wait::running && thread.seen == UINT32_MAX) computes = true;
    // Storage before computing, and both before a lock: the one furthest from the first thread.
    const bool further =
        reads || (wait == Wait::running && !is_storage(behind)) || (wait == Wait::lock && behind == Wait::hand_over);
    if (further) behind = wait;
  }
  if (waits) ++one.slice.behind[at(computes ? Wait::other : behind)];
}

bool Sampler::waits_for_python(Watched& one, std::uint64_t address) {
  if (!one.python) one.python = python_data(one.files.maps());
  return one.python->holds(address);
}

void Sampler::follow_stretch(Watched& one, Wait now_found) {
  if (now_found == Wait::sleep || now_found == Wait::gpu) one.ran_ns.reset();
  ProcessCounters lead;
  if ((now_found != Wait::running && now_found != Wait::read) || !one.files.read_lead_io(lead)) return;
  const bool anew = lead.read_calls_bytes >= one.lead_bytes + kSomeBytes;
  one.lead_bytes = lead.read_calls_bytes;
  const auto scheduled = anew ? one.files.read_schedstat() : std::nullopt;
  if (!scheduled) return;
  const std::uint64_t periods = one.ran_ns ? system::grown(scheduled->ran_ns, *one.ran_ns) / ns(kLeadsEvery) : 0;
  one.ran_ns = scheduled->ran_ns;
  if (periods == 0) return;
  const auto power = static_cast<std::size_t>(std::bit_width(periods) - 1);
  one.slice.stretches[std::min(power, kStretches - 1)] += static_cast<std::uint32_t>(periods);
}

void Sampler::end_threads(Watched& one) {
  for (std::size_t t = 1; t < one.files.threads().size(); ++t) {
    ThreadFiles& thread = one.files.threads()[t];
    if (thread.seen == UINT32_MAX && active(thread.waits) > 0 && recording_.threads.size() < kMostThreads) {
      ProcessCounters read;
      const bool beside = thread.beside >= kBesideLooks && thread.beside >= kBeside * one.pause_looks;
      if (beside || thread.on_storage >= kBringsLooks ||
          (one.files.read_thread_io(thread.tid, read) &&
           (read.read_calls_bytes >= kBringsBytes || read.read_calls >= kBringsCalls))) {
        thread.seen = static_cast<std::uint32_t>(recording_.threads.size());
        recording_.threads.push_back(
            {.process = one.index, .tid = thread.tid, .name = one.files.thread_name(thread.tid)});
      }
    }
    if (thread.seen != UINT32_MAX) one.slice.threads.push_back({.thread = thread.seen, .waits = thread.waits});
    thread.waits = {};
  }
}

void Sampler::note_files(Watched& one) {
  const auto held = [&](const std::string& path, std::uint64_t place) {
    FileSeen* const file = file_seen(path, one.index);
    if (file == nullptr) return;
    ++file->held;
    if (place == 0 || place == file->place) return;
    ++file->open;
    file->place = place;
    note_time(*file);
  };
  for (const ProcessFiles::OpenFile& open : one.files.open_files()) held(open.path, open.place);
  if (!one.faults) return;
  one.faults = false;
  for (const std::string& path : mapped_files(one.files.maps()))
    if (!is_program_file(path)) held(path, 0);
}

void Sampler::become_another(Watched& one, const Stat& stat) {
  one.stack = stat.stack;
  one.python.reset();
  ProcessSeen& before = recording_.processes[one.index];
  const double now_s = seconds(now_ns());
  const bool had_children =
      std::any_of(recording_.processes.begin(), recording_.processes.end(),
                  [&](const ProcessSeen& child) { return child.parent == static_cast<int>(one.index); });
  if (!had_children && now_s - before.first_s < kBecoming) {
    before.name = one.files.name();
    before.command = one.files.command().substr(0, kMostCommand);
    return;
  }
  if (one.saving) end_save(one);
  ProcessSeen next = before;
  before.last_s = next.first_s = now_s;
  next.age_s = 0;
  next.name = one.files.name();
  next.command = one.files.command().substr(0, kMostCommand);
  one.slice.counted = difference(one.last_quick, one.last);
  if (!recording_.slices.empty()) recording_.slices.back().processes.push_back(one.slice);
  one.index = static_cast<std::uint32_t>(recording_.processes.size());
  recording_.processes.push_back(std::move(next));
  one.slice = {};
  one.slice.process = one.index;
  one.last = one.last_quick;
  one.has_children = one.lead_reads = one.taken_anew = false;
  one.hand_overs = SIZE_MAX;
  one.pause_looks = 0;
  one.ran_ns.reset();
  one.files.find_threads();
}

}  // namespace headrace::observe
