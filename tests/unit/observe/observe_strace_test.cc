// strace's lines, as strace 6.1 writes them.
#include "harness/observe/calls/strace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/diagnostics.h"
#include "harness/observe/calls/lines.h"
#include "harness/observe/calls/recorded.h"
#include "harness/observe/calls/strace_line.h"
#include "harness/observe/learning/roles.h"
#include "harness/observe/learning/shares.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::observe::calls::observe_strace_test {
namespace {

TEST(ParseStraceHead, TakesEachFormatOfThreadsAndTimes) {
  const auto numbered = parse_strace_head("2608  1795647112.663527 close(3) = 0 <0.000010>");
  ASSERT_TRUE(numbered);
  EXPECT_EQ(numbered->tid, 2608);
  EXPECT_DOUBLE_EQ(numbered->time_s, 1795647112.663527);
  EXPECT_EQ(numbered->rest, "close(3) = 0 <0.000010>");
  EXPECT_EQ(parse_strace_head("[pid  3248] 1795647118.813184 close(255 <unfinished ...>")->tid, 3248);
  EXPECT_EQ(parse_strace_head("1795647118.783408 access(\"/etc\", R_OK) = 0")->tid, 0);
  EXPECT_DOUBLE_EQ(parse_strace_head("17 10:11:12.500000 close(3) = 0")->time_s, 36672.5);
}

TEST(ParseStraceHead, RefusesLinesWithoutATimeThatReportsSomething) {
  for (const char* line :
       {"", "close(3) = 0", "17 close(3) = 0", "10:11:12 close(3) = 0", "17 10:11:12 close(3)", "[pid x] 1.5 a"})
    EXPECT_FALSE(parse_strace_head(line)) << line;
}

TEST(ParseStraceCall, TakesItApart) {
  const auto call = parse_strace_call(
      R"(newfstatat(15</tmp/a b, (c)/20.bin>, "", {st_mode=S_IFREG|0644, st_size=1, ...}, AT_EMPTY_PATH) = 0 <0.000035>)");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->name, "newfstatat");
  ASSERT_EQ(call->arguments.size(), 4u);
  EXPECT_EQ(parse_strace_fd(call->arguments[0])->target, "/tmp/a b, (c)/20.bin");
  EXPECT_EQ(call->result, "0");
  EXPECT_DOUBLE_EQ(*call->seconds, 0.000035);
  const auto opened = parse_strace_call(R"(openat(AT_FDCWD</srv>, "x\"),\134", O_RDONLY) = 13</srv/x>)");
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->seconds);
  EXPECT_EQ(parse_strace_string(opened->arguments[1]), "x\"),\\");
  EXPECT_TRUE(parse_strace_fd(opened->arguments[0])->working_folder);
  EXPECT_EQ(parse_strace_fd(opened->result)->number, 13);
  const auto socket = parse_strace_call(R"(read(4<TCP:[10.0.0.1:80->10.0.0.2:81]>, "\n"..., 8) = 8 <0.1>)");
  ASSERT_TRUE(socket);
  EXPECT_EQ(socket->arguments.size(), 3u);
  for (const char* line : {"close(3", "close", "close(3) 0", "(3) = 0", "read(3</a, \"x\", 1) = 1"})
    EXPECT_FALSE(parse_strace_call(line)) << line;
}

TEST(ParseStraceString, UndoesEscapes) {
  EXPECT_EQ(parse_strace_string(R"("a\n\303\266\x41\0b"...)"), std::string("a\n\xc3\xb6"
                                                                           "A\0b",
                                                                           7));
  EXPECT_FALSE(parse_strace_string("\"open"));
  EXPECT_FALSE(parse_strace_string("NULL"));
}

struct ReadStrace : ::testing::Test {
  testing::TemporaryFolder folder;
  std::string write(const std::string& text, const std::string& name = "trace") {
    std::ofstream(folder.path() + "/" + name) << text;
    return folder.path() + "/" + name;
  }
  static std::string refusal_of(const std::vector<std::string>& files) {
    try {
      read_strace(files, "/");
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  }
};

TEST_F(ReadStrace, FollowsDescriptorsThroughForksWithoutTheirPaths) {
  const Log log = read_strace({write(R"(10  100.000000 openat(AT_FDCWD, "data/a.bin", O_RDONLY|O_CLOEXEC) = 3 <0.000010>
10  100.000100 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD <unfinished ...>
11  100.000200 read(3,  <unfinished ...>
10  100.000250 <... clone resumed>, child_tidptr=0x7f) = 11 <0.000150>
11  100.010200 <... read resumed>"ab"..., 65536) = 4096 <0.010000>
11  100.020000 futex(0x7fd2, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, FUTEX_BITSET_MATCH_ANY) = 0 <0.5>
11  100.530000 read(3, "", 4096) = -1 EIO (Input/output error) <0.1>
11  100.640000 exit_group(0 <unfinished ...>
11  100.640100 +++ exited with 0 +++
10  100.640200 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=11} ---
)")},
                              "/srv");
  ASSERT_EQ(log.processes.size(), 2u);
  EXPECT_EQ(log.processes[1].parent, 0);
  ASSERT_EQ(log.files.size(), 1u);
  EXPECT_EQ(log.files[0], "/srv/data/a.bin");
  EXPECT_TRUE(log.waits_known && log.durations_known);
  ASSERT_EQ(log.calls.size(), 4u);
  const Call& read = log.calls[1];
  EXPECT_EQ(read.kind, Kind::read);
  EXPECT_NEAR(read.begin_s, 0.0002, 1e-6);
  EXPECT_DOUBLE_EQ(read.seconds, 0.01);
  EXPECT_EQ(read.bytes, 4096);
  EXPECT_EQ(read.asked, 65536u);
  EXPECT_EQ(log.calls[2].kind, Kind::hand_over);
  EXPECT_LT(log.calls[3].bytes, 0);
  EXPECT_EQ(log.notes.size(), 1u);  // exit_group has not returned
}

TEST_F(ReadStrace, CountsThreadsToTheirProcessThoughTheyRanBeforeItKnew) {
  const Log log =
      read_strace({write(R"(10  100.0 clone3({flags=CLONE_VM|CLONE_THREAD|CLONE_SYSVSEM, stack=0x7f} <unfinished ...>
11  100.1 close(3) = 0 <0.1>
10  100.2 <... clone3 resumed> => {parent_tid=[11]}, 88) = 11 <0.2>
10  100.3 clone(child_stack=NULL, flags=SIGCHLD) = 12 <0.1>
12  100.4 close(3) = 0 <0.1>
)")},
                  "/");
  ASSERT_EQ(log.processes.size(), 2u);
  EXPECT_EQ(log.processes[1].pid, 12);
  EXPECT_EQ(log.processes[1].parent, 0);
  ASSERT_EQ(log.threads.size(), 3u);
  for (const Thread& one : log.threads) {
    EXPECT_EQ(one.first, one.tid != 11) << one.tid;
    EXPECT_EQ(one.process, one.tid == 12 ? 1u : 0u) << one.tid;
  }
}

TEST_F(ReadStrace, JoinsLinesThatItsOwnMessagesTear) {
  const Log log = read_strace({write(R"(1795647118.817122 read(3, strace: Process 3249 attached
 <unfinished ...>
[pid  3249] 1795647118.817744 close(255) = 0 <0.004102>
[pid  3247] 1795647118.820000 <... read resumed>"x", 4096) = 1 <0.002500>
1795647118.830000 read(3, "", 4096) = 0 <0.000001>
)")},
                              "/");
  ASSERT_EQ(log.notes.size(), 2u);  // no waits, and a descriptor from before
  ASSERT_EQ(log.threads.size(), 2u);
  EXPECT_TRUE(log.processes[0].pid == 3247 || log.processes[1].pid == 3247);
  EXPECT_EQ(log.calls.size(), 3u);
}

TEST_F(ReadStrace, ReportsAPollOfAGpuFromOthers) {
  const Log log = read_strace(
      {write(
          R"(7 100.0 poll([{fd=3<pipe:[9]>, events=POLLIN}, {fd=19</dev/nvidia0>, events=POLLIN|POLLPRI}], 2, -1) = 1 ([{fd=19, revents=POLLIN}]) <0.5>
7 101.0 poll([{fd=3<pipe:[9]>, events=POLLIN}], 1, -1) = 1 ([{fd=3, revents=POLLIN}]) <0.5>
)")},
      "/");
  ASSERT_EQ(log.calls.size(), 2u);
  EXPECT_EQ(log.calls[0].kind, Kind::gpu);
  EXPECT_EQ(log.calls[1].kind, Kind::hand_over);
}

TEST_F(ReadStrace, CountsBadLinesAndNamesThemByTheirPlace) {
  const std::string path = write(R"(10  100.0 close(3) = 0 <0.1>
10  100.1 close(3
nothing of the kind
10  100.2 <... read resumed>, 4) = 4 <0.1>
)");
  const Log log = read_strace({path}, "/");
  ASSERT_FALSE(log.notes.empty());
  EXPECT_EQ(log.notes[0].find("3 lines were left out: " + path + ":2: is no call; " + path + ":3: "), 0u)
      << log.notes[0];
}

TEST_F(ReadStrace, LeavesOutPathsThatAreLongerThanLinuxTakes) {
  std::string path;
  while (path.size() < 1'000'000) path += "/x";
  const std::string trace =
      write(fmt::format("10  100.0 close(3) = 0 <0.1>\n"
                        "10  100.1 openat(AT_FDCWD, \"{0}\", O_RDONLY) = 3 <0.1>\n"
                        "10  100.2 openat(AT_FDCWD, \"a\", O_RDONLY) = 3<{0}> <0.1>\n"
                        "10  100.3 read(3<{0}>, \"\"..., 10) = 10 <0.1>\n"
                        "10  100.4 openat(5<{0}>, \"a\", O_RDONLY) = 3 <0.1>\n",
                        path));
  const Log log = read_strace({trace}, "/");
  EXPECT_EQ(log.calls.size(), 1u);
  EXPECT_EQ(log.notes[0], "4 lines were left out: " + trace + ":2: has a path that is longer than Linux takes ...");
}

TEST_F(ReadStrace, NamesEachReasonOnce) {
  try {
    read_strace({write("a\nb\nc\n")}, "/");
    FAIL();
  } catch (const UsageError& e) {
    const std::string why = e.what();
    EXPECT_NE(why.find("3 lines were left out: " + folder.path() + "/trace:1: no time"), std::string::npos) << why;
    EXPECT_EQ(why.find("no time"), why.rfind("no time")) << why;
  }
}

TEST_F(ReadStrace, KnowsThreadsThatReadForTheFirst) {
  std::string lines =
      "10  100.0 clone3({flags=CLONE_VM|CLONE_THREAD|CLONE_SYSVSEM, stack=0x7f} => {parent_tid=[11]}, 88) = 11 "
      "<0.001>\n";
  for (int i = 0; i < 40; ++i)
    lines += fmt::format(
        "11  {0}.1 read(3</data/{1}>, \"\"..., 100000) = 100000 <0.8>\n"
        "10  {0}.1 futex(0x7f, FUTEX_WAIT, 0, NULL) = 0 <0.8>\n"
        "10  {0}.9 clock_nanosleep(CLOCK_MONOTONIC, 0, {{tv_sec=0}}, NULL) = 0 <0.19>\n",
        101 + i, i % 7);
  const Recording recording = recorded(read_strace({write(lines)}, "/"));
  ASSERT_EQ(recording.threads.size(), 1u);
  EXPECT_EQ(recording.threads[0].tid, 11);
  const Roles roles = find_roles(recording);
  EXPECT_TRUE(roles.in_process);
  EXPECT_EQ(roles.threads, std::vector<std::uint32_t>{0});
  const std::vector<const Slice*> slices = slices_within(recording, roles.begin_s, roles.end_s);
  EXPECT_GT(value_of(thread_shares(slices, roles), "reading"), 0.7);
  EXPECT_GT(value_of(consumer_shares(slices, roles), "waiting_for_loader"), 0.7);
}

TEST_F(ReadStrace, ProcessesThatStartedEachOtherHaveNoParent) {
  const Log log = read_strace({write(R"(10  100.0 fork() = 11 <0.1>
11  100.2 fork() = 10 <0.1>
10  100.4 read(3</data/a>, ""..., 10) = 10 <0.1>
11  100.6 read(4</data/b>, ""..., 10) = 10 <0.1>
12  100.8 read(4</data/b>, ""..., 10) = 10 <0.1>
)")},
                              "/");
  const Roles roles = find_roles(recorded(log));
  EXPECT_TRUE(roles.in_process);
  EXPECT_TRUE(roles.workers.empty());
}

TEST_F(ReadStrace, ManyProcessesHaveAFewLongSlices) {
  std::string lines;
  for (int at_s : {100, 9100})
    for (int pid = 1000; pid < 3000; ++pid)
      lines += fmt::format("{}  {}.{:06} read(3</data/{}>, \"\"..., 10) = 10 <0.000001>\n", pid, at_s, pid, pid % 7);
  const Recording recording = recorded(read_strace({write(lines)}, "/"));
  std::size_t parts = 0;
  for (const Slice& slice : recording.slices) parts += slice.processes.size();
  EXPECT_LE(parts, 1'010'000u);
  EXPECT_GE(recording.slices.size(), 400u);
  EXPECT_EQ(find_roles(recording).consumers.size(), 2000u);
}

TEST_F(ReadStrace, FilesOfSeparateThreadsNameThem) {
  const std::string child = write("100.2 read(3</data/b>, \"\"..., 10) = 10 <0.1>\n", "calls.11");
  const std::string parent =
      write("100.0 fork() = 11 <0.1>\n100.4 read(3</data/a>, \"\"..., 10) = 10 <0.1>\n", "calls.9");
  const Log log = read_strace({child, parent}, "/");
  ASSERT_EQ(log.processes.size(), 2u);
  EXPECT_EQ(log.processes[0].pid, 9);
  EXPECT_EQ(log.processes[1].pid, 11);
  EXPECT_EQ(log.processes[1].parent, 0);
  const Log numbered = read_strace({write("10  100.0 close(3) = 0 <0.1>\n", "calls.7")}, "/");
  ASSERT_EQ(numbered.processes.size(), 1u);
  EXPECT_EQ(numbered.processes[0].pid, 10) << "lines know better than names";
}

TEST_F(ReadStrace, RefusesSeveralFilesWithoutThreadNumbers) {
  const std::string call = "100.0 close(3) = 0 <0.1>\n";
  EXPECT_NE(refusal_of({write(call, "one"), write(call, "two.20240131")}).find("strace -ff"), std::string::npos);
  EXPECT_EQ(read_strace({write(call, "one")}, "/").calls.size(), 1u);
  EXPECT_EQ(read_strace({write(call, "one"), write("7 " + call, "two")}, "/").calls.size(), 2u);
}

TEST_F(ReadStrace, RefusesRelativeTimes) {
  std::string relative, by_day;
  for (int i = 0; i < 12; ++i) {
    relative += fmt::format("10       0.000{} close(3) = 0 <0.000010>\n", i % 2 == 0 ? 250 : 120);
    by_day += fmt::format("10  {}.5 close(3) = 0 <0.000010>\n",
                          i < 6 ? fmt::format("23:59:5{}", i) : fmt::format("00:00:0{}", i - 6));
  }
  EXPECT_NE(refusal_of({write(relative)}).find("-ttt"), std::string::npos);
  EXPECT_EQ(read_strace({write(by_day)}, "/").calls.size(), 12u) << "midnight is no fall again and again";
}

TEST_F(ReadStrace, RefusesFilesWithoutCalls) {
  EXPECT_THROW(read_strace({write("hello\nworld\n")}, "/"), UsageError);
  EXPECT_THROW(read_strace({folder.path() + "/none"}, "/"), UsageError);
  EXPECT_THROW(read_strace({folder.path()}, "/"), UsageError);
  const Log untimed = read_strace({write("10  100.0 close(3) = 0\n10  100.1 close(4) = 0\n")}, "/");
  EXPECT_FALSE(untimed.durations_known);
}

}  // namespace
}  // namespace headrace::observe::calls::observe_strace_test
