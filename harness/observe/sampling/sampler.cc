#include "harness/observe/sampling/sampler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "harness/base/clock.h"
#include "harness/base/counters.h"
#include "harness/base/error.h"
#include "harness/observe/sampling/sampler_watched.h"

namespace headrace::observe {
namespace {

constexpr double kAllEvery = 0.010, kCountersEvery = 0.010, kTreeEvery = 0.1;  // [s]
constexpr double kTreeSoon = 0.005;         // for each process that is known, where another began on this machine [s]
constexpr std::size_t kOpenFilesEvery = 5;  // looks at the tree
constexpr std::size_t kFewProcesses = 12;   // all of which are looked at as often as those that take batches
constexpr std::size_t kMostPaths = 20000;   // that are kept
constexpr std::size_t kMostSizes = 4096;    // of reads, that are kept
constexpr std::uint64_t kSavePiece = 64 << 10;  // a write of this size between two looks may begin a save [B]

/// How long a process runs already.
double age_s(const Stat& stat) {
  timespec t;
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  const double started_s = static_cast<double>(stat.started_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return std::max(0.0, static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9 - started_s);
}

std::string refusal(int pid, int code) {
  if (code == EPERM || code == EACCES)
    return fmt::format(
        "process {} may not be observed: another user owns it, or the system forbids it (kernel.yama.ptrace_scope, "
        "hidepid, a container without CAP_SYS_PTRACE). Run headrace as that user or as root, or start the command by "
        "'headrace observe -- COMMAND'",
        pid);
  if (code == ENOENT)
    return fmt::format("process {}: this kernel does not show waiting system calls (/proc/{}/syscall is missing)", pid,
                       pid);
  return fmt::format("process {}: {}", pid, errno_text(code));
}

}  // namespace

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)), machine_(options_.proc), paces_(options_.sys) {
  recording_.cpus = std::max(1u, std::thread::hardware_concurrency());
  key_.reserve(8192);
  newest_.reserve(32);
  loadavg_ = system::UniqueFd(::open((options_.proc + "/loadavg").c_str(), O_RDONLY | O_CLOEXEC));
  paths_.reserve(kMostPaths);
  began_ns_ = slice_ns_ = now_ns();
  slice_due_ = began_ns_ + ns(slice_s_);
  if (options_.gpus) gpus_ = std::make_unique<GpuLooks>(options_.gpus, slice_s_);
  if (options_.nccl) nccl_ = std::make_unique<NcclLooks>(options_.proc, began_ns_);
  cpu_s_ = thread_cpu_s();
}

Sampler::~Sampler() = default;

bool Sampler::watch(int pid) {
  ProcessFiles probe(options_.proc, pid);
  if (!probe.there()) {
    refused_ = fmt::format("there is no process {} here (of a container's processes the number outside is meant)", pid);
    return false;
  }
  if (probe.refused() != 0) {
    refused_ = refusal(pid, probe.refused());
    return false;
  }
  adopt(pid, -1);
  look_for_processes();
  return true;
}

void Sampler::adopt(int pid, int parent) {
  auto fresh = std::make_unique<Watched>(options_.proc, pid);
  const auto stat = fresh->files.read_stat();
  if (!fresh->files.there() || !stat || stat->state == 'Z') return;
  if (fresh->files.refused() != 0) {
    if (fresh->files.refused() != ESRCH && recording_.refused.size() < 8)
      recording_.refused.push_back(refusal(pid, fresh->files.refused()));
    return;
  }
  ProcessSeen seen{.pid = pid, .name = fresh->files.name(), .command = fresh->files.command().substr(0, kMostCommand)};
  seen.parent = parent;
  fresh->counted_ns = now_ns();
  seen.first_s = seconds(fresh->counted_ns);
  seen.age_s = age_s(*stat);
  bool io_refused = false;
  fresh->files.read_counters(fresh->last, io_refused);
  seen.counters_refused = io_refused;
  fresh->last_quick = fresh->last;
  // One that was not there at the last look has counted all of it since.
  if (parent >= 0 && seen.first_s > kTreeEvery / 2) fresh->last = {};
  fresh->parent_pid = stat->parent;
  fresh->stack = stat->stack;
  fresh->index = static_cast<std::uint32_t>(recording_.processes.size());
  if (nccl_) nccl_->watch(pid);
  fresh->slice.process = fresh->index;
  recording_.processes.push_back(std::move(seen));
  watched_.push_back(std::move(fresh));
  recording_.most_processes = std::max(recording_.most_processes, static_cast<std::uint32_t>(watched_.size()));
}

void Sampler::look_for_processes() {
  // Those that have none rarely begin to have children.
  const bool everybody = trees_++ % 8 == 0;
  for (std::size_t i = 0; i < watched_.size(); ++i) {  // grows in the loop
    Watched& one = *watched_[i];
    const auto stat = one.files.read_stat();
    if (!stat || stat->state == 'Z' || stat->state == 'X') {
      one.gone = true;
      continue;
    }
    if (stat->stack != one.stack) become_another(one, *stat);
    if (stat->threads != one.files.threads().size()) one.files.find_threads();
    // One that was let in may change its user.
    if (const int code = watched_.size() <= kFewProcesses ? one.files.look_refused() : 0;
        code == EPERM || code == EACCES) {
      if (recording_.refused.size() < 8) recording_.refused.push_back(refusal(one.files.pid(), code));
      one.gone = true;
      continue;
    }
    // Files that memory serves never keep a thread waiting: of a few processes, those that are open report.
    if ((i + trees_) % std::max<std::size_t>(kOpenFilesEvery, watched_.size() / 4) == 0) note_files(one);
    if (!everybody && !one.has_children && watched_.size() > kFewProcesses) continue;
    const std::vector<int> children = one.files.children();
    if (!one.has_children && !children.empty()) {  // its earlier reads were not handed over
      ProcessCounters lead;
      one.files.read_lead_io(lead);
      one.lead_calls = lead.read_calls;
      one.calls_at_pause = one.calls_at_look = 0;
      one.calls_before = lead.read_calls;
    }
    one.has_children = !children.empty();
    for (const int pid : children)
      if (std::none_of(watched_.begin(), watched_.end(), [pid](const auto& w) { return w->files.pid() == pid; }))
        adopt(pid, static_cast<int>(watched_[i]->index));
  }
  for (const auto& one : watched_) {
    if (!one->gone) continue;
    if (one->saving) end_save(*one);
    recording_.processes[one->index].last_s = seconds(now_ns());
    // Its counts are its parent's now.
    for (const auto& parent : watched_)
      if (parent->files.pid() == one->parent_pid) {
        add_counters(parent->ended, one->last);
        parent->child_ended = true;
      }
    one->slice.counted = last_counted(*one);
    if (!recording_.slices.empty()) recording_.slices.back().processes.push_back(one->slice);
  }
  std::erase_if(watched_, [](const auto& one) { return one->gone; });
  lone_leaf_ = std::count_if(watched_.begin(), watched_.end(), [](const auto& one) { return !one->has_children; }) == 1;
  for (const auto& one : watched_)
    one->leads = watched_.size() <= kFewProcesses || one->has_children || recording_.processes[one->index].parent < 0;
}

FileSeen* Sampler::file_seen(std::string_view path, std::uint32_t process) {
  if (path.empty() || path.front() != '/') return nullptr;
  key_.assign(path);
  auto found = paths_.find(key_);
  if (found == paths_.end()) {
    if (recording_.files.size() >= kMostPaths) {
      ++recording_.paths_left_out;
      return nullptr;
    }
    found = paths_.emplace(key_, static_cast<std::uint32_t>(recording_.files.size())).first;
    recording_.files.push_back({.path = key_});
  }
  FileSeen& file = recording_.files[found->second];
  file.process = process;
  return &file;
}

void Sampler::note_time(FileSeen& file) const {
  const double now_s = seconds(now_ns());
  if (file.first_s == 0) file.first_s = now_s;
  file.last_s = now_s;
}

void Sampler::note_path(std::string_view path, Wait wait, std::uint32_t process) {
  FileSeen* const file = file_seen(path, process);
  if (file == nullptr) return;
  (wait == Wait::read ? file->read : wait == Wait::write ? file->written : file->named) += 1;
  note_time(*file);
}

void Sampler::note_read_size(long number, const SyscallLine& line) {
  if (number != SYS_read && number != SYS_pread64) return;
  const std::uint64_t size = line.arguments[2];
  if (const auto found = recording_.read_sizes.find(size); found != recording_.read_sizes.end())
    ++found->second;
  else if (recording_.read_sizes.size() < kMostSizes)
    recording_.read_sizes.emplace(size, 1);
}

Wait Sampler::wait_of_thread(Watched& one, std::size_t thread, std::string_view& path) {
  static thread_local char text[256], link[4096], name[4096];
  const auto line = parse_syscall(read_at_start(one.files.threads()[thread].syscall.get(), text));
  if (!line) return Wait::other;
  if (line->running) return Wait::running;
  if (line->number < 0) {
    one.faults = true;
    return Wait::fault;
  }
  const CallKind kind = call_kind(line->number);
  if (needs_fd(kind)) {
    const std::string_view target = one.files.link(line->arguments[0], link);
    const Wait wait = wait_of(kind, fd_kind(target));
    if (wait == Wait::read) note_read_size(line->number, *line);
    if (wait == Wait::read || wait == Wait::write) path = target;
    return wait;
  }
  if (is_futex(line->number) && waits_for_python(one, line->arguments[0])) return Wait::lock;
  // As a thread waits for its GPU that was asked not to spin (cudaDeviceScheduleBlockingSync).
  if (is_poll(line->number) && one.files.polls_gpu(line->arguments[0], line->arguments[1])) return Wait::gpu;
  if (const PathArgument at = path_argument(line->number); at.path >= 0) {
    path = one.files.text_at(line->arguments[static_cast<std::size_t>(at.path)], name);
    if (!path.empty() && path.front() != '/') {  // below a folder that it has open, or that it works in
      const std::uint64_t folder = at.folder >= 0 ? line->arguments[0] : static_cast<std::uint64_t>(AT_FDCWD);
      const std::string_view where =
          static_cast<int>(folder) == AT_FDCWD ? one.files.working_folder(link) : one.files.link(folder, link);
      if (where.size() + 1 + path.size() < sizeof link) {
        link[where.size()] = '/';
        std::memcpy(link + where.size() + 1, path.data(), path.size());
        path = {link, where.size() + 1 + path.size()};
      }
    }
  } else if (kind == CallKind::change || kind == CallKind::name) {
    // fsync, close, fstat: the descriptor's target; other calls' first argument has none.
    path = one.files.link(line->arguments[0], link);
    if (fd_kind(path) == FdKind::hand_over) return Wait::other;
  }
  return wait_of(kind, FdKind::unknown);
}

bool Sampler::is_often_looked_at(const Watched& one) const { return one.has_children || lone_leaf_; }

void Sampler::count_lead(Watched& one, Wait now_found) {
  // Looks come late where processors are busy, or a quota is used up, which depends on the thread's work. So time
  // decides, not the number of looks. When a late one finds something else, it may have changed at any time since.
  constexpr double kPeriod = kLeadsEvery;
  const double every = (is_often_looked_at(one) ? kLeadsEvery : kAllEvery) * scale_;
  const std::uint64_t periods = system::grown(now_ns(), one.counted_ns) / ns(kPeriod),
                      planned = static_cast<std::uint64_t>(every / kPeriod + 0.5);
  one.counted_ns += periods * ns(kPeriod);
  ++one.slice.looks;
  const std::uint64_t before = one.lead_wait == now_found ? 0 : system::grown(periods, planned) / 2;
  one.slice.lead[static_cast<std::size_t>(one.lead_wait)] += static_cast<std::uint32_t>(before);
  one.slice.lead[static_cast<std::size_t>(now_found)] += static_cast<std::uint32_t>(periods - before);
  one.slice.unsure += static_cast<std::uint32_t>(before);
}

void Sampler::look_at_lead(Watched& one) {
  if (one.files.threads().empty()) return;
  std::string_view path;
  const Wait wait = wait_of_thread(one, 0, path);
  const bool pauses = wait == Wait::sleep || wait == Wait::gpu;
  if (pauses && one.lead_wait != wait) {
    ++one.slice.pauses;
    if (one.has_children) note_taken(one);
  }
  count_lead(one, wait);
  if (!one.has_children) follow_stretch(one, wait);
  one.lead_wait = wait;
  if (one.saving) {
    ++one.save_looks;
    if (wait == Wait::write || wait == Wait::hand_over || wait == Wait::name) ++one.save_held;
  }
  if (is_storage(wait)) note_path(path, wait, one.index);
}

HandOvers& Sampler::hand_overs_of(Watched& one) {
  if (one.hand_overs == SIZE_MAX) {
    one.hand_overs = recording_.hand_overs.size();
    recording_.hand_overs.push_back({.process = one.index, .jumps = {}, .by_pause = {}});
  }
  return recording_.hand_overs[one.hand_overs];
}

std::uint64_t Sampler::lead_written(const Watched& one) const {
  ProcessCounters counters;
  one.files.read_lead_io(counters);
  return counters.write_calls_bytes;
}

std::uint64_t Sampler::taken_calls(Watched& one) const {
  ProcessCounters lead;
  if (one.files.read_lead_io(lead) && lead.read_calls > one.lead_calls) {
    one.lead_calls = lead.read_calls;
    one.lead_reads = true;
  }
  if (one.lead_reads) return one.lead_calls;
  // A thread of its own takes batches. Children that ended are in this count.
  ProcessCounters all;
  one.files.read_io(all);
  return all.read_calls;
}

void Sampler::note_taken(Watched& one) {
  const std::uint64_t calls = taken_calls(one), jump = system::grown(calls, one.calls_at_pause);
  const bool first = one.calls_at_pause == 0;
  one.calls_at_pause = calls;
  if (jump == 0) return;
  ++one.slice.takes;
  if (first || jump > kMostJump) {
    ++one.slice.first_takes;
    return;
  }
  one.slice.taken_calls += jump;
  ++hand_overs_of(one).by_pause[static_cast<std::uint32_t>(jump)];
}

void Sampler::follow_save(Watched& one, const ProcessCounters& now, double now_s) {
  const std::uint64_t written = system::grown(now.write_calls_bytes, one.last_quick.write_calls_bytes);
  if (!one.saving && written >= kSavePiece) {
    one.save = {.process = one.index, .begin_s = one.last_quick_s};
    one.lead_written = one.lead_written_before;
    one.saving = true;
    one.path_due_s = 0;
    one.save_looks = one.save_held = 0;
  }
  if (!one.saving) return;
  one.save.bytes += written;
  if (written >= kSavePiece || one.lead_wait == Wait::write) one.last_written_s = now_s;
  if (now_s >= one.path_due_s) {
    if (const std::string path = one.files.written_file(); !path.empty()) one.save.path = path;
    one.path_due_s = now_s + (one.save.path.empty() ? 0.01 : 0.2);
  }
  if (now_s - one.last_written_s > kSaveOver) end_save(one);
}

void Sampler::end_save(Watched& one) {
  one.saving = false;
  one.save.end_s = one.last_written_s;
  one.save.lead_bytes =
      system::grown(std::max(lead_written(one), one.lead_written_before), one.lead_written);  // it may be gone
  one.save.lead_held_share = one.save_looks > 0 ? static_cast<double>(one.save_held) / one.save_looks : 0;
  if (one.save.bytes >= kLeastSave && !one.save.path.empty()) recording_.saves.push_back(one.save);
}

void Sampler::look_at_counters(Watched& one, double now_s) {
  ProcessCounters now;
  if (!one.files.read_io(now)) return;
  if (!one.child_ended) {
    follow_save(one, now, now_s);
    if (now.write_calls != one.last_quick.write_calls) one.lead_written_before = lead_written(one);
    const std::uint64_t calls = one.has_children ? taken_calls(one) : 0, jump = system::grown(calls, one.calls_at_look);
    if (one.calls_at_look > 0 && jump > 0 && jump <= kMostJump) {
      ++hand_overs_of(one).jumps[static_cast<std::uint32_t>(jump)];
      one.slice.looked_calls += jump;
    }
    one.calls_at_look = calls;
    if (jump > 0 && one.lead_reads) one.taken_anew = true;
    if (one.taken_anew && (one.lead_wait == Wait::sleep || one.lead_wait == Wait::gpu)) note_taken_by(one, now_s);
  }
  one.child_ended = false;
  one.last_quick = now;
  one.last_quick_s = now_s;
}

/// The number of the newest process or thread, which /proc/loadavg ends with, is another than before.
bool Sampler::somebody_began() {
  char buffer[128];
  const std::string_view text = read_at_start(loadavg_.get(), buffer);
  const std::string_view newest = text.substr(text.rfind(' ') + 1);
  if (newest.empty() || newest == newest_) return false;
  newest_.assign(newest);
  return true;
}

std::uint64_t Sampler::look(std::uint64_t now) {
  // Batches are counted from when workers are noticed: of a few processes that is at once.
  const double soon_s = kTreeSoon * static_cast<double>(watched_.size()) * scale_;
  if (now >= counters_due_ && watched_.size() <= kFewProcesses && now >= tree_looked_ + ns(soon_s) && somebody_began())
    tree_due_ = now;
  if (now >= tree_due_) {
    look_for_processes();
    tree_looked_ = now;
    tree_due_ = now + ns(kTreeEvery * scale_);
  }
  const bool all = now >= all_due_;
  if (all || now >= leads_due_) {
    for (const auto& one : watched_)
      if (all || is_often_looked_at(*one)) look_at_lead(*one);
    leads_due_ = now + ns(kLeadsEvery * scale_);
  }
  if (all) {
    for (const auto& one : watched_) look_at_others(*one);
    paces_.look(seconds(now_ns()));
    machine_.look();
    ++looks_;
    all_due_ = now + ns(kAllEvery * scale_);
  }
  if (now >= counters_due_) {
    for (const auto& one : watched_)
      if (one->leads) look_at_counters(*one, seconds(now));
    note_still(seconds(now));
    counters_due_ = now + ns(kCountersEvery * scale_);
  }
  if (now >= slice_due_) end_slice(now);
  return std::min({leads_due_, all_due_, counters_due_, tree_due_, slice_due_});
}

}  // namespace headrace::observe
