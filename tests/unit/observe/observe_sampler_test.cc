// The sampler over a /proc of the test's own: files as the kernel writes them, changed while it looks.
#include "harness/observe/sampling/sampler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "harness/base/clock.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::observe::observe_sampler_test {
namespace {

namespace fs = std::filesystem;

class LaidProc {
 public:
  explicit LaidProc(std::string root) : root_(std::move(root)) {}

  void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  void process(int pid, int parent, const std::string& syscall, const std::string& children = "") {
    const std::string own = std::to_string(pid), thread = own + "/task/" + own + "/";
    put(thread + "syscall", syscall);
    put(thread + "io", io(0, 0));
    put(thread + "children", children);
    put(own + "/io", io(0, 0));
    put(own + "/schedstat", "1000 500000000 3\n");
    put(own + "/comm", "python3\n");
    put(own + "/cmdline", std::string("python3\0train.py", 16));
    put(own + "/stat", fmt::format("{} (a (b) c) S {} 1 1 0 -1 0 0 0 7 0 250 50 0 0 20 0 1 0 99 0 0\n", pid, parent));
    fs::create_directories(root_ + "/" + own + "/fd");
  }
  static std::string io(int bytes, int calls) {
    return fmt::format(
        "rchar: {}\nwchar: 3\nsyscr: {}\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 0\ncancelled_write_bytes: 0\n", bytes,
        calls);
  }
  void link(int pid, int fd, const std::string& target) {
    fs::create_symlink(target, fmt::format("{}/{}/fd/{}", root_, pid, fd));
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

std::string in_call(long number, unsigned long fd, unsigned long size = 0) {
  return fmt::format("{} {:#x} 0x7f00 {:#x} 0x0 0x0 0x0 0x7ffd 0x7fe8\n", number, fd, size);
}

struct ObserveSampler : ::testing::Test {
  testing::TemporaryFolder folder;
  LaidProc proc{folder.path()};

  Recording looked(Sampler& sampler, double seconds) {
    const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
    while (now_ns() < until) sleep_until(std::min(until, sampler.look(now_ns())));
    return sampler.finish(now_ns());
  }
};

TEST_F(ObserveSampler, CountsTheStatesAndReadsOfThreads) {
  proc.process(10, 1, in_call(SYS_futex, 1), "11");
  proc.process(11, 10, in_call(SYS_read, 5, 65536));
  proc.link(11, 5, "/data/a.jpg");
  Sampler sampler({.proc = proc.root()});
  ASSERT_TRUE(sampler.watch(10)) << sampler.refused();
  EXPECT_EQ(sampler.processes(), 2u);
  const Recording seen = looked(sampler, 0.6);
  ASSERT_EQ(seen.processes.size(), 2u);
  EXPECT_EQ(seen.processes[1].parent, 0);
  EXPECT_EQ(seen.processes[1].command, "python3 train.py");
  ProcessSlice lead, reader;
  for (const Slice& slice : seen.slices)
    for (const ProcessSlice& one : slice.processes) add_process(one.process == 0 ? lead : reader, one);
  EXPECT_GT(lead.lead[static_cast<std::size_t>(Wait::hand_over)], 0u);
  EXPECT_EQ(lead.lead[static_cast<std::size_t>(Wait::read)], 0u);
  EXPECT_GT(reader.lead[static_cast<std::size_t>(Wait::read)], 0u);
  ASSERT_EQ(seen.files.size(), 1u);
  EXPECT_EQ(seen.files[0].path, "/data/a.jpg");
  ASSERT_EQ(seen.read_sizes.size(), 1u);
  EXPECT_EQ(seen.read_sizes.begin()->first, 65536u);
}

TEST_F(ObserveSampler, CountsOnlyGrowth) {
  proc.process(10, 1, "running\n");
  Sampler sampler({.proc = proc.root()});
  ASSERT_TRUE(sampler.watch(10));
  proc.put("10/io", LaidProc::io(500, 7));
  const Recording seen = looked(sampler, 0.4);
  ProcessCounters sum;
  for (const Slice& slice : seen.slices)
    for (const ProcessSlice& one : slice.processes) add_counters(sum, one.counted);
  EXPECT_EQ(sum.read_calls_bytes, 500u);
  EXPECT_EQ(sum.read_calls, 7u);
  EXPECT_EQ(sum.storage_read_bytes, 0u);  // 4096 before and after
}

TEST_F(ObserveSampler, CountsTimeAndNoLooks) {
  proc.process(10, 1, in_call(SYS_futex, 1));
  Sampler sampler({.proc = proc.root()});
  ASSERT_TRUE(sampler.watch(10));
  const auto pass = [&](double seconds, bool look) {
    const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
    while (now_ns() < until) sleep_until(look ? std::min(until, sampler.look(now_ns())) : until);
  };
  pass(0.4, true);
  pass(1.2, false);  // as where no processor is free to look
  proc.put("10/task/10/syscall", in_call(SYS_clock_nanosleep, 0));
  pass(0.4, true);
  const Recording seen = sampler.finish(now_ns());
  ProcessSlice lead;
  for (const Slice& slice : seen.slices)
    for (const ProcessSlice& one : slice.processes) add_process(lead, one);
  const double waited = lead.lead[static_cast<std::size_t>(Wait::hand_over)],
               slept = lead.lead[static_cast<std::size_t>(Wait::sleep)];
  // Periods of 2 ms; half of what was not seen is each.
  EXPECT_GE(waited, 490);
  EXPECT_GE(slept, 490);
  EXPECT_GE(lead.unsure, 290u);
  EXPECT_LE((waited + slept) * 0.002, seen.elapsed_s);
  EXPECT_LT(lead.looks, waited + slept);
}

TEST_F(ObserveSampler, DividesTimeAsFinelyWhereLooksAreSeldom) {
  proc.process(10, 1, "running\n");
  Sampler sampler({.proc = proc.root(), .most_cpu = 1e-6});
  ASSERT_TRUE(sampler.watch(10));
  const Recording seen = looked(sampler, 6.5);
  EXPECT_GE(seen.slices.size(), 4u);  // from which a limit follows
  EXPECT_LT(seen.samples_per_s, 80);
}

TEST_F(ObserveSampler, SaysThatThereIsNoSuchProcess) {
  Sampler sampler({.proc = proc.root()});
  EXPECT_FALSE(sampler.watch(10));
  EXPECT_NE(sampler.refused().find("no process 10"), std::string::npos) << sampler.refused();
}

TEST_F(ObserveSampler, SaysThatTheKernelReportsNoCalls) {
  proc.process(10, 1, "running\n");
  fs::remove(proc.root() + "/10/task/10/syscall");
  Sampler sampler({.proc = proc.root()});
  EXPECT_FALSE(sampler.watch(10));
  EXPECT_NE(sampler.refused().find("syscall is missing"), std::string::npos) << sampler.refused();
}

TEST_F(ObserveSampler, FollowsATreeThatComesAndGoes) {
  proc.process(10, 1, in_call(SYS_futex, 1));
  Sampler sampler({.proc = proc.root()});
  ASSERT_TRUE(sampler.watch(10));
  EXPECT_EQ(sampler.processes(), 1u);
  proc.process(12, 10, in_call(SYS_futex, 1));
  proc.put("10/task/10/children", "12 ");
  const std::uint64_t guard = now_ns() + 120'000'000'000u;
  while (sampler.processes() < 2 && now_ns() < guard) sleep_until(sampler.look(now_ns()));
  EXPECT_EQ(sampler.processes(), 2u);
  // A zombie is nobody to look at.
  proc.put("12/stat", "12 (x) Z 10 1 1 0 -1 0 0 0 7 0 250 50 0 0 20 0 1 0 99 0 0\n");
  while (sampler.processes() > 1 && now_ns() < guard) sleep_until(sampler.look(now_ns()));
  EXPECT_EQ(sampler.processes(), 1u);
  EXPECT_FALSE(sampler.all_gone());
}

TEST_F(ObserveSampler, KnowsAWaitForAGpuByItsPolling) {
  // Its own memory is what the sampler looks into.
  const int pid = ::getpid();
  const std::array<pollfd, 2> polled{pollfd{.fd = 8, .events = POLLIN, .revents = 0},
                                     pollfd{.fd = 9, .events = POLLIN, .revents = 0}};
  const std::string call = fmt::format("{} {:#x} 0x2 0xffff 0x0 0x0 0x0 0x7ffd 0x7fe8\n", SYS_ppoll,
                                       reinterpret_cast<std::uintptr_t>(polled.data()));
  proc.process(pid, 1, call);
  proc.link(pid, 8, "pipe:[77]");
  for (const bool gpu : {false, true}) {
    fs::remove(fmt::format("{}/{}/fd/9", proc.root(), pid));
    proc.link(pid, 9, gpu ? "/dev/nvidia0" : "socket:[78]");
    Sampler sampler({.proc = proc.root()});
    ASSERT_TRUE(sampler.watch(pid)) << sampler.refused();
    const Recording seen = looked(sampler, 0.3);
    ProcessSlice lead;
    for (const Slice& slice : seen.slices)
      for (const ProcessSlice& one : slice.processes) add_process(lead, one);
    EXPECT_EQ(lead.lead[static_cast<std::size_t>(Wait::gpu)] > 0, gpu);
    EXPECT_EQ(lead.lead[static_cast<std::size_t>(Wait::hand_over)] > 0, !gpu);
  }
}

struct LaidGpu : GpuActivity {
  std::vector<GpuLook> look() override {
    return {{.pci_address = "0000:17:00.0", .busy = 0.25, .users = {{.pid = 10, .memory = 1000, .busy = 0.2}}}};
  }
};

TEST_F(ObserveSampler, KeepsTheDriversReportOnGpus) {
  proc.process(10, 1, "running\n");
  Sampler sampler({.proc = proc.root(), .gpus = [] { return std::make_unique<LaidGpu>(); }});
  ASSERT_TRUE(sampler.watch(10));
  const Recording seen = looked(sampler, 0.8);
  ASSERT_EQ(seen.gpus.size(), 1u);
  EXPECT_EQ(seen.gpus[0].users.at(0).memory, 1000u);
  GpuSlice sum;
  for (const Slice& slice : seen.slices)
    for (const GpuSlice& one : slice.gpus) sum = {.looks = sum.looks + one.looks, .busy = sum.busy + one.busy};
  ASSERT_GT(sum.looks, 0u);
  EXPECT_NEAR(sum.busy, 0.25 * sum.looks, 1e-9);
}

struct LaidThreads : ObserveSampler {
  void thread(int tid, const std::string& syscall, int bytes = 0, int calls = 0) {
    const std::string own = "10/task/" + std::to_string(tid) + "/";
    proc.put(own + "syscall", syscall);
    proc.put(own + "io", LaidProc::io(bytes, calls));
    proc.put(own + "comm", "worker\n");
    proc.put("10/stat", "10 (python3) S 1 1 1 0 -1 0 0 0 7 0 250 50 0 0 20 0 2 0 99 0 0\n");
  }
  ProcessSlice seen_of(const Recording& seen) {
    ProcessSlice sum;
    for (const Slice& slice : seen.slices)
      for (const ProcessSlice& one : slice.processes) add_process(sum, one);
    return sum;
  }
  Recording watched() {
    Sampler sampler({.proc = proc.root()});
    EXPECT_TRUE(sampler.watch(10)) << sampler.refused();
    return looked(sampler, 0.7);
  }
};

TEST_F(LaidThreads, BringDataInWhereTheyReadAndComputeForTheFirstElse) {
  proc.process(10, 1, in_call(SYS_futex, 1));
  thread(11, "running\n", 200000, 7);
  Recording seen = watched();
  ASSERT_EQ(seen.threads.size(), 1u);
  EXPECT_EQ(seen.threads[0].name, "worker");
  ProcessSlice one = seen_of(seen);
  EXPECT_GT(of(one.behind, Wait::running), 0);
  ASSERT_EQ(one.threads.size(), 1u);
  EXPECT_GT(of(one.threads[0].waits, Wait::running), 0);
  EXPECT_GT(of(one.lead, Wait::hand_over), 0);
  thread(11, "running\n");
  seen = watched();
  EXPECT_TRUE(seen.threads.empty());
  one = seen_of(seen);
  EXPECT_GT(of(one.behind, Wait::other), 0);
  EXPECT_EQ(of(one.behind, Wait::running), 0);
}

TEST_F(LaidThreads, BringDataInWhereTheyComputeWhileTheFirstPauses) {
  proc.process(10, 1, in_call(SYS_clock_nanosleep, 0));
  thread(11, "running\n");
  EXPECT_EQ(watched().threads.size(), 1u);
}

TEST_F(LaidThreads, WaitForTheInterpreterLockWherePythonKeepsIt) {
  proc.process(10, 1, fmt::format("{} 0x946100 0x189 0x0 0x7ffd 0x0 0x0 0x7ffd 0x7fe8\n", SYS_futex));
  proc.put("10/maps",
           "00400000-0041f000 r-xp 00000000 fe:00 247970   /usr/bin/python3.11\n"
           "00945000-00947000 rw-p 00545000 fe:00 247970   /usr/bin/python3.11\n"
           "00947000-00aca000 rw-p 00000000 00:00 0 \n"
           "01000000-02000000 rw-p 00000000 00:00 0        [heap]\n");
  EXPECT_GT(of(seen_of(watched()).lead, Wait::lock), 0);
  proc.put("10/task/10/syscall", fmt::format("{} 0x1000100 0x189 0x0 0x7ffd 0x0 0x0 0x7ffd 0x7fe8\n", SYS_futex));
  const ProcessSlice other = seen_of(watched());
  EXPECT_EQ(of(other.lead, Wait::lock), 0);
  EXPECT_GT(of(other.lead, Wait::hand_over), 0);
}

TEST_F(ObserveSampler, KeepsHowLongTheFirstThreadComputesBetweenItsReads) {
  proc.process(10, 1, "running\n");
  Sampler sampler({.proc = proc.root()});
  ASSERT_TRUE(sampler.watch(10));
  const std::uint64_t until = now_ns() + 500'000'000u;
  for (int read = 1; now_ns() < until; ++read) {
    proc.put("10/task/10/io", LaidProc::io(read * 100000, read));
    proc.put("10/schedstat", fmt::format("{} 500000000 3\n", read * 12'000'000));  // six periods each
    const std::uint64_t next = now_ns() + 20'000'000u;
    while (now_ns() < next) sleep_until(std::min(next, sampler.look(now_ns())));
  }
  const Recording seen = sampler.finish(now_ns());
  ProcessSlice sum;
  for (const Slice& slice : seen.slices)
    for (const ProcessSlice& one : slice.processes) add_process(sum, one);
  EXPECT_GT(sum.stretches[2], 0u);
  EXPECT_EQ(sum.stretches[2] % 6, 0u);
}

TEST_F(ObserveSampler, TakesAnotherProgramForAnotherProcess) {
  const auto becomes = [&](unsigned long stack) {
    proc.put("10/stat",
             fmt::format("10 (a) S 1 1 1 0 -1 0 0 0 7 0 250 50 0 0 20 0 1 0 99 0 0 0 1 1 {} 0 0 0\n", stack));
  };
  proc.process(10, 1, in_call(SYS_futex, 1), "11");
  becomes(4096);
  proc.process(11, 10, in_call(SYS_futex, 1));
  Sampler sampler({.proc = proc.root()});
  ASSERT_TRUE(sampler.watch(10));
  proc.put("10/cmdline", std::string("python3\0other.py", 16));
  becomes(8192);
  const Recording seen = looked(sampler, 0.6);
  ASSERT_EQ(seen.processes.size(), 3u);
  EXPECT_EQ(seen.processes[0].command, "python3 train.py");
  EXPECT_EQ(seen.processes[2].command, "python3 other.py");
  EXPECT_EQ(seen.processes[2].pid, 10);
  EXPECT_LE(seen.processes[0].last_s, seen.processes[2].first_s);
}

TEST(MappedFiles, AreNoProgramsAndNoMemory) {
  const std::vector<std::string> files = mapped_files(
      "00400000-0041f000 r-xp 00000000 fe:00 247970   /usr/bin/python3.11\n"
      "7f0000000000-7f0000100000 r--s 00000000 fe:00 12   /data/a b.arrow\n"
      "7f0000100000-7f0000200000 r--s 00100000 fe:00 12   /data/a b.arrow\n"
      "7f0000200000-7f0000300000 rw-p 00000000 00:00 0\nnonsense\n");
  EXPECT_EQ(files, std::vector<std::string>{"/data/a b.arrow"});
}

TEST(Stat, KnowsNamesWithBrackets) {
  const auto stat = parse_stat("7 (a) b (c) R 3 1 1 0 -1 0 0 0 11 0 25 5 0 0 20 0 4 0 99 0 0\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->parent, 3);
  EXPECT_EQ(stat->major_faults, 11u);
  EXPECT_EQ(stat->user_ticks, 25u);
  EXPECT_EQ(stat->threads, 4u);
  EXPECT_FALSE(parse_stat("7 (cut"));
  EXPECT_FALSE(parse_stat("7 (x) R 3 1"));
}

TEST(Diskstats, ReadsTheWorkOfDevices) {
  const auto devices = parse_diskstats(
      "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
      " 254       0 vda 10 2 2000 150 4 1 800 60 0 90 210 0 0 0 0 1 2\n");
  ASSERT_EQ(devices.size(), 1u);
  const DeviceSlice& vda = devices.at("254:0");
  EXPECT_EQ(vda.reads, 10u);
  EXPECT_EQ(vda.read_bytes, 2000u * 512);
  EXPECT_EQ(vda.written_bytes, 800u * 512);
  EXPECT_DOUBLE_EQ(vda.read_wait_s, 0.15);
  EXPECT_DOUBLE_EQ(vda.busy_s, 0.09);
}

}  // namespace
}  // namespace headrace::observe::observe_sampler_test
