// Looks at a tree of processes from outside. It reads its threads' calls up to 500 times a second, its counters, and
// the machine's. It takes no more than a share of one processor: with more processes it looks less often.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/observe/learning/pace.h"
#include "harness/observe/nccl/nccl_looks.h"
#include "harness/observe/sampling/gpus.h"
#include "harness/observe/sampling/machine_counters.h"
#include "harness/observe/sampling/process_files.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::observe {

struct SamplerOptions {
  std::string proc = "/proc", sys = "/sys";
  double most_cpu = 0.03;  // of one processor
  GpuLooks::Begin gpus{};  // the reporter on GPUs; empty: none is asked
  bool nccl = false;       // NCCL's services are asked, where the job has them
};

class Sampler {
 public:
  explicit Sampler(SamplerOptions options);
  ~Sampler();

  /// The first process of the tree. False: it does not exist, or may not be looked at: refused() has the reason.
  bool watch(int pid);
  const std::string& refused() const { return refused_; }

  /// Does the work due at `now_ns`, and returns when the next is due.
  std::uint64_t look(std::uint64_t now_ns);
  /// No process of the tree is there any more.
  bool all_gone() const { return watched_.empty(); }
  std::size_t processes() const { return watched_.size(); }

  /// The recording so far; its last slice is the newest that is whole.
  const Recording& recorded() const { return recording_; }
  /// Ends the last slice, and hands over the recording.
  Recording finish(std::uint64_t now_ns);

 private:
  struct Watched;
  bool is_often_looked_at(const Watched& one) const;
  void look_at_lead(Watched& one);
  /// Adds the time since the last look to the waits found then and now.
  void count_lead(Watched& one, Wait now_found);
  void look_at_others(Watched& one);
  /// Does the thread, which waits for a word in memory, wait for Python's interpreter lock?
  bool waits_for_python(Watched& one, std::uint64_t address);
  /// Ends the stretch of computing, if the first thread has read since, or pauses.
  void follow_stretch(Watched& one, Wait now_found);
  /// Stores the findings about threads, and which of them bring data in.
  void end_threads(Watched& one);
  void note_files(Watched& one);
  /// It has become another program, which begins with nothing.
  void become_another(Watched& one, const Stat& stat);
  Wait wait_of_thread(Watched& one, std::size_t thread, std::string_view& path);
  /// The calls that it read by since it last began to pause.
  void note_taken(Watched& one);
  std::uint64_t lead_written(const Watched& one) const;
  /// read() of processes that take data from others.
  std::uint64_t taken_calls(Watched& one) const;
  HandOvers& hand_overs_of(Watched& one);
  /// Does every process without children wait for another just now?
  bool all_wait() const;
  /// Keeps its taken data, while it pauses.
  void note_taken_by(Watched& one, double now_s);
  /// Keeps the moment, if they all do, before and after it is looked at.
  void note_still(double now_s);
  void look_at_counters(Watched& one, double now_s);
  void follow_save(Watched& one, const ProcessCounters& now, double now_s);
  void end_save(Watched& one);
  void look_for_processes();
  bool somebody_began();
  ProcessCounters last_counted(const Watched& one) const;
  void adopt(int pid, int parent);
  void end_slice(std::uint64_t now_ns);
  void take_paces(std::map<std::string, DeviceSlice>& devices);
  void merge_slices();
  FileSeen* file_seen(std::string_view path, std::uint32_t process);
  void note_path(std::string_view path, Wait wait, std::uint32_t process);
  void note_time(FileSeen& file) const;
  void note_read_size(long number, const SyscallLine& line);
  double seconds(std::uint64_t now_ns) const { return static_cast<double>(now_ns - began_ns_) * 1e-9; }

  const SamplerOptions options_;
  Recording recording_;
  std::vector<std::unique_ptr<Watched>> watched_;
  std::unordered_map<std::string, std::uint32_t> paths_;  // into recording_.files
  std::string key_;                                       // kept, so that looking a path up allocates nothing
  system::UniqueFd loadavg_;
  std::string newest_;  // process, as loadavg_ reports it
  MachineCounters machine_;
  DevicePaces paces_;
  std::unique_ptr<GpuLooks> gpus_;
  std::unique_ptr<NcclLooks> nccl_;
  std::string refused_;
  std::uint64_t began_ns_ = 0, slice_ns_ = 0;
  std::uint64_t leads_due_ = 0, all_due_ = 0, counters_due_ = 0, tree_due_ = 0, slice_due_ = 0;
  std::uint64_t tree_looked_ = 0;
  double scale_ = 1;  // how many times as long as it would like it waits between looks
  double slice_s_ = 0.25;
  double cpu_s_ = 0, beside_cpu_s_ = 0;  // when the slice began
  std::uint64_t looks_ = 0;
  bool lone_leaf_ = false;  // one process alone has no children
  unsigned trees_ = 0;
};

}  // namespace headrace::observe
