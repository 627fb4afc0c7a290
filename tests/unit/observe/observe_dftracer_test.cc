// DFTracer's lines, as its release 2.2 writes them, and headrace's own of the same form.
#include "harness/observe/calls/dftracer.h"

#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/diagnostics.h"
#include "harness/observe/calls/recorded.h"
#include "harness/observe/calls/write.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::observe::calls::observe_dftracer_test {
namespace {

constexpr const char* kLines = R"([
{"name":"FH","cat":"dftracer","type":1,"pid":3528,"tid":3528,"ph":4,"args":{"hhash":"68","name":"/srv","value":"39ee"}}
{"id":1,"name":"start","cat":"dftracer","type":1,"pid":3528,"tid":3528,"ts":1795647121901612,"dur":0,"ph":1,"args":{"hhash":"68","ppid":3519,"cwd":"39ee"}}
{"id":1,"name":"start","cat":"dftracer","type":1,"pid":3531,"tid":3531,"ts":1795647121972025,"dur":0,"ph":1,"args":{"hhash":"68","ppid":3528,"cwd":"39ee"}}
{"name":"FH","cat":"dftracer","type":1,"pid":3531,"tid":3531,"ph":4,"args":{"hhash":"68","name":"data/c2/6.bin","value":"015a"}}
{"id":286,"name":"open64","cat":"POSIX","type":3,"pid":3531,"tid":3531,"ts":1795647122334038,"dur":2,"ph":1,"args":{"hhash":"68","flags":524288,"fhash":"015a"}}
{"id":289,"name":"read","cat":"POSIX","type":3,"pid":3531,"tid":3531,"ts":1795647122334051,"dur":19,"ph":1,"args":{"hhash":"68","ret":68522,"count":68523,"fhash":"015a"}}
{"id":291,"name":"close","cat":"POSIX","type":3,"pid":3531,"tid":3531,"ts":1795647122334094,"dur":1,"ph":1,"args":{"hhash":"68","ret":0,"fhash":"015a"}}
)";

struct ReadDftracer : ::testing::Test {
  testing::TemporaryFolder folder;
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder.path() + "/" + name) << text;
    return folder.path() + "/" + name;
  }
};

TEST_F(ReadDftracer, NamesFilesAndProcesses) {
  const Log log = read_dftracer({write("a.pfw", kLines)});
  ASSERT_EQ(log.calls.size(), 3u);
  EXPECT_EQ(log.files.at(log.calls[1].file), "/srv/data/c2/6.bin");
  EXPECT_EQ(log.calls[1].bytes, 68522);
  EXPECT_NEAR(log.calls[1].seconds, 19e-6, 1e-9);
  EXPECT_NEAR(log.calls[1].begin_s, 13e-6, 1e-6);
  EXPECT_TRUE(log.calls[0].to_read);
  ASSERT_EQ(log.processes.size(), 2u);
  EXPECT_EQ(log.processes[1].parent, 0);
  EXPECT_EQ(log.processes[0].parent, -1);  // its own parent was not traced
  EXPECT_FALSE(log.waits_known);
}

TEST_F(ReadDftracer, CountsBadLinesAndNamesThemByTheirPlace) {
  const std::string path =
      write("a.pfw", std::string(kLines) + "{\"name\":\"read\",\n" + R"({"name":"read","cat":"POSIX"})" + "\n");
  const Log log = read_dftracer({path});
  ASSERT_FALSE(log.notes.empty());
  EXPECT_EQ(log.notes[0], "2 lines were left out: " + path + ":9: is no JSON; " + path + ":10: has no pid");
}

TEST_F(ReadDftracer, LeavesOutPathsThatAreLongerThanLinuxTakes) {
  std::string path;
  while (path.size() < 1'000'000) path += "x/";
  const std::string trace =
      write("a.pfw", std::string(kLines) + R"({"name":"FH","cat":"dftracer","pid":3531,"args":{"value":"9","name":")" +
                         path + "\"}}\n");
  EXPECT_EQ(read_dftracer({trace}).notes[0],
            "1 line was left out: " + trace + ":9: has a path that is longer than Linux takes");
}

TEST_F(ReadDftracer, RefusesFilesWithoutCalls) {
  EXPECT_THROW(read_dftracer({write("a.pfw", "[\n]\n")}), UsageError);
  EXPECT_THROW(read_dftracer({write("a.pfw", "hello\n")}), UsageError);
  EXPECT_THROW(read_dftracer({folder.path() + "/none.pfw"}), UsageError);
}

TEST_F(ReadDftracer, RoundTripsKeptCalls) {
  LogBuilder builder("headrace");
  const std::uint32_t thread = builder.thread(8, 7);
  builder.started(builder.process(7), 5);
  builder.log().waits_known = true;
  builder.add({.begin_s = 5,
               .seconds = 0.25,
               .thread = thread,
               .file = builder.file("/d/\"a\"\n.bin"),
               .bytes = 3,
               .kind = Kind::open,
               .to_read = true});
  builder.add({.begin_s = 6.5,
               .seconds = 1e-6,
               .thread = thread,
               .file = 0,
               .bytes = 10,
               .asked = 20,
               .offset = 4096,
               .kind = Kind::read,
               .processor_s = 0.001});
  builder.add({.begin_s = 7, .thread = thread, .file = 0, .kind = Kind::change, .renamed_to = builder.file("/d/b")});
  builder.add({.begin_s = 8, .seconds = 0.5, .thread = thread, .kind = Kind::hand_over});
  const Log log = builder.take();
  const Log again = read_dftracer({write("trace.pfw.gz", packed(log))});
  EXPECT_EQ(again.files, log.files);
  EXPECT_TRUE(again.waits_known);
  EXPECT_EQ(again.processes[again.threads[0].process].pid, 7);
  ASSERT_EQ(again.calls.size(), log.calls.size());
  for (std::size_t i = 0; i < log.calls.size(); ++i) {
    const Call &a = log.calls[i], &b = again.calls[i];
    EXPECT_NEAR(a.begin_s, b.begin_s, 1e-8);
    EXPECT_NEAR(a.seconds, b.seconds, 1e-8);
    EXPECT_TRUE(a.kind == b.kind && a.bytes == b.bytes && a.file == b.file && a.offset == b.offset &&
                a.to_read == b.to_read && a.renamed_to == b.renamed_to)
        << i;
  }
  EXPECT_NEAR(again.calls[1].processor_s, 0.001, 1e-9);
  EXPECT_LT(again.calls[0].processor_s, 0);
}

/// Two batches of a worker: it reads, computes, and waits; the time of each is where it was spent.
TEST(Recorded, SpendsTimeWhereItWasSpent) {
  LogBuilder builder("strace");
  const std::uint32_t main = builder.thread(1), worker = builder.thread(2);
  builder.started(1, 1);
  builder.log().waits_known = builder.log().durations_known = true;
  const std::uint32_t file = builder.file("/data/a.bin");
  for (int batch = 0; batch < 20; ++batch) {
    const double t = batch * 0.1;
    builder.add({.begin_s = t,
                 .seconds = 0.06,
                 .thread = worker,
                 .file = file,
                 .bytes = 100,
                 .asked = 100,
                 .kind = Kind::read});
    builder.add({.begin_s = t + 0.09, .seconds = 0.01, .thread = worker, .kind = Kind::hand_over});
    builder.add({.begin_s = t, .seconds = 0.1, .thread = main, .kind = Kind::take});
  }
  const Recording seen = recorded(builder.take());
  EXPECT_FALSE(seen.machine_seen);
  ProcessSlice lead, reader;
  for (const Slice& slice : seen.slices)
    for (const ProcessSlice& one : slice.processes) add_process(one.process == 0 ? lead : reader, one);
  const auto share = [](const ProcessSlice& one, Wait wait) {
    double all = 0;
    for (const std::uint32_t looks : one.lead) all += looks;
    return one.lead[static_cast<std::size_t>(wait)] / all;
  };
  EXPECT_NEAR(share(reader, Wait::read), 0.6, 0.01);
  EXPECT_NEAR(share(reader, Wait::running), 0.3, 0.01);
  EXPECT_NEAR(share(reader, Wait::hand_over), 0.1, 0.01);
  EXPECT_NEAR(share(lead, Wait::hand_over), 1, 0.01);
  EXPECT_EQ(reader.counted.read_calls_bytes, 2000u);
  ASSERT_EQ(seen.files.size(), 1u);
  EXPECT_EQ(seen.files[0].extent, 2000u);  // it was never opened anew
}

}  // namespace
}  // namespace headrace::observe::calls::observe_dftracer_test
