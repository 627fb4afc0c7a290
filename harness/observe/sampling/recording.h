// A process tree and its machine over time: numbers as the kernel gave them, and nothing judged.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/observe/learning/pace.h"
#include "harness/observe/learning/wait.h"
#include "harness/observe/nccl/nccl_seen.h"

namespace headrace::observe {

/// The kernel's counts of a process, and of its children that ended and were waited for.
struct ProcessCounters {
  std::uint64_t read_calls_bytes = 0,
                write_calls_bytes = 0;  // of read() and write() of anything: files, pipes, sockets
  std::uint64_t read_calls = 0, write_calls = 0;
  std::uint64_t storage_read_bytes = 0, storage_written_bytes = 0;  // the requests to storage
  std::uint64_t major_faults = 0;
  double user_s = 0, system_s = 0;  // processor time of all its threads
  double queued_s = 0;              // its first thread was ready, and no processor was free
};
/// later - earlier; where a counter runs backwards, 0.
ProcessCounters difference(const ProcessCounters& later, const ProcessCounters& earlier);

struct ProcessSeen {
  int pid = 0;
  int parent = -1;  // index of the process that started it; -1: the first of the tree, or not known
  std::string name{}, command{};
  double first_s = 0, last_s = 0;  // since the observation began
  double age_s = 0;                // how long it had run at first_s
  bool counters_refused = false;   // /proc/PID/io may not be read
};

/// A thread other than the process's first that brings data in. It was seen reading, fetching pages, or computing while
/// the first one paused.
struct ThreadSeen {
  std::uint32_t process = 0;
  int tid = 0;
  std::string name{};
};

/// One such thread in one slice of time.
struct ThreadSlice {
  std::uint32_t thread = 0;  // into Recording::threads
  WaitCounts waits{};        // looks
};

inline constexpr std::size_t kStretches = 12;

/// One process in one slice of time.
struct ProcessSlice {
  std::uint32_t process = 0;
  // Its first thread: for how many periods of looks it was found so; samples of all others together.
  WaitCounts lead{}, others{};
  // At looks at which its first thread waited for others, their state: running, or bringing data in. Other, one that
  // brings none. hand_over, none did anything.
  WaitCounts behind{};
  std::vector<ThreadSlice> threads{};
  // Periods of processor time of its first thread between two reads, without a pause, by the logarithm of their number.
  std::array<std::uint32_t, kStretches> stretches{};
  std::uint32_t looks = 0;   // at its first thread
  std::uint32_t unsure = 0;  // of its periods: between looks that came late, and found different things
  std::uint32_t pauses = 0;  // times that its first thread began to sleep or to wait for a GPU
  std::uint32_t takes = 0;   // such times before which it had read something since the last
  // read() by its first thread, or by all where that makes none; of those with children.
  std::uint64_t taken_calls = 0;  // between pauses
  std::uint32_t first_takes =
      0;  // pauses before which more than a batch may have been read: the first with these children
  std::uint64_t looked_calls = 0;  // between looks
  ProcessCounters counted;         // in this slice, children not counted
};

/// One block device in one slice.
struct DeviceSlice {
  std::uint64_t reads = 0, read_bytes = 0, writes = 0, written_bytes = 0;
  double read_wait_s = 0, write_wait_s = 0;  // summed over requests
  double busy_s = 0, queue_s = 0;            // queue_s / seconds: requests at the device on average
  Pace pace{};                               // of reads; of the devices that most is read from
};

/// The counters of the client of the read files' file system in one slice, of all processes of this machine.
struct ClientSlice {
  std::uint64_t read_bytes = 0, name_requests = 0;  // from servers
  // NFS: times are of all READs together, from when they were asked for; queue: until they were sent.
  std::uint64_t reads = 0;
  double queue_s = 0, round_trip_s = 0, execution_s = 0;
  // NFS: requests of any kind; how many were under way, and waited for a slot, when each was sent.
  std::uint64_t sent = 0, in_flight_sum = 0, waiting_sum = 0;
  // FUSE: requests that the daemon had not answered, added up over looks.
  std::uint64_t daemon_sum = 0;
  std::uint32_t daemon_looks = 0;
};

/// The machine in one slice.
struct MachineSlice {
  double idle_cpus = 0;                                  // processors that had nothing to do
  double io_stall = 0, cpu_stall = 0, memory_stall = 0;  // pressure: share of the time in which some task waited
  double throttled_s = 0;  // withheld by a quota of processor time, summed over processors
  std::uint64_t page_cache_bytes = 0;
  std::uint64_t network_read_bytes = 0, network_written_bytes = 0;
  ClientSlice client{};
};

/// One GPU in one slice: sums over looks at it.
struct GpuSlice {
  std::uint32_t gpu = 0;  // into Recording::gpus
  std::uint32_t looks = 0;
  double busy = 0, memory_busy = 0;  // shares of the driver's period in which a kernel ran, its memory was used
};

struct Slice {
  double begin_s = 0, end_s = 0;
  std::vector<ProcessSlice> processes;
  std::map<std::string, DeviceSlice> devices;  // by "254:0"; those with any work
  std::vector<GpuSlice> gpus;                  // that were looked at
  MachineSlice machine;
  double seconds() const { return end_s - begin_s; }
};
void add_client(ClientSlice& to, const ClientSlice& more);
void add_counters(ProcessCounters& to, const ProcessCounters& more);
void add_process(ProcessSlice& to, const ProcessSlice& more);
/// Makes one slice of two that follow each other.
void add_slice(Slice& to, const Slice& next);

/// A file that a thread was found at.
struct FileSeen {
  std::string path;
  std::uint32_t read = 0, named = 0, written = 0;  // samples
  std::uint32_t open = 0;          // times that a process had it open, and had read on since the last time
  std::uint32_t held = 0;          // times that one had it open, or mapped
  std::uint64_t place = 0;         // where it was read to when it was last found open [B]
  std::uint32_t process = 0;       // the last that was found there
  double first_s = 0, last_s = 0;  // when it was first and last found read or named
  std::uint64_t extent = 0;        // how far it was read, where calls were written down [B]; 0: not known
};

inline constexpr std::uint64_t kLeastSave = 1 << 20;  // less is a log [B]
inline constexpr double kSaveOver = 0.3;              // a time without writes that ends a save [s]
/// Many bytes written in one go by one process.
struct SaveSeen {
  std::uint32_t process = 0;
  double begin_s = 0, end_s = 0;
  std::uint64_t bytes = 0;       // given to write()
  std::uint64_t lead_bytes = 0;  // of these by the process's first thread
  std::string path{};            // of the file that was written to; "" = not found
  double lead_held_share = 0;    // of the samples of its first thread: writing, or waiting for another thread
};

inline constexpr std::uint64_t kMostJump = 4096;  // more calls at once are no batches
/// How one process with children takes batches from others. It counts how often the number of its read() calls grew by
/// that many.
struct HandOvers {
  std::uint32_t process = 0;
  std::map<std::uint32_t, std::uint32_t> jumps;     // from one look to the next
  std::map<std::uint32_t, std::uint32_t> by_pause;  // from one pause of its first thread to the next
};

/// A process that had memory of a GPU.
struct GpuUserSeen {
  int pid = 0;
  std::uint64_t memory = 0;      // most at once [B]; 0: not reported
  double busy = 0;               // share of the time that its kernels had multiprocessors, added up over ...
  std::uint32_t busy_looks = 0;  // ... the looks that reported it
};

/// A GPU that the driver reported about, the job's or not.
struct GpuSeen {
  std::string pci_address, name;
  std::vector<GpuUserSeen> users{};
};

inline constexpr std::size_t kStillProcesses = 12;  // of more, not all are looked at at once
/// A moment when all processes without children waited for another: all batches that there was room for were ready.
struct Still {
  struct Count {
    std::uint32_t process = 0;
    std::uint64_t value = 0;  // of those with children: read() by the first thread since then; else: bytes read so far
  };
  double at_s = 0;
  std::size_t count = 0;
  std::array<Count, kStillProcesses> counts{};
};

/// Calls that a process with children had read by, while it paused.
struct TakenBy {
  double at_s = 0;
  std::uint32_t process = 0;
  std::uint64_t calls = 0;  // as Still::Count::value
};

struct Recording {
  std::vector<ProcessSeen> processes;
  std::vector<ThreadSeen> threads;
  std::vector<Slice> slices;
  std::vector<FileSeen> files;
  std::map<std::uint64_t, std::uint32_t>
      read_sizes;  // bytes asked for by the reads of files that threads were found in
  std::vector<SaveSeen> saves;
  std::vector<HandOvers> hand_overs;
  std::vector<Still> stills;   // of few processes; those in which anything had changed
  std::vector<TakenBy> taken;  // of few processes, too
  std::vector<GpuSeen> gpus;
  NcclSeen nccl;
  std::uint64_t paths_left_out = 0;  // there was no more room for
  double began_s = 0;                // CLOCK_MONOTONIC
  bool reads_exact = false;          // in stills and taken: bytes of data alone, and calls on files left out
  double elapsed_s = 0;
  double sampler_cpu_s = 0;
  double samples_per_s = 0;  // looks at each thread, on average
  std::uint32_t most_processes = 0;
  unsigned cpus = 0;
  std::string ended{};               // how the command did: "with exit code 1"; "" = not known
  bool machine_seen = true;          // devices, processors and the rest of the machine were looked at
  bool waits_known = true;           // the waits of threads that are in no call on a file
  std::vector<std::string> refused;  // unreadable files, and why: a sentence each
};

}  // namespace headrace::observe
