// Moments whose counts are made exact by a trace of the same time.
#include "harness/observe/sampling/exact_stills.h"

#include <gtest/gtest.h>

namespace headrace::observe::observe_exact_stills_test {
namespace {

using calls::Call;
using calls::Kind;
using calls::LogBuilder;

/// Process 10 takes what 11 reads; watched from second 1000 on.
struct ExactStills : ::testing::Test {
  Recording recording;
  LogBuilder builder{"headrace"};
  std::uint32_t data = builder.file("/data/a.bin"), library = builder.file("/usr/lib/python3/abc.pyc");

  ExactStills() {
    recording.began_s = 1000;
    recording.processes = {{.pid = 10}, {.pid = 11, .parent = 0, .first_s = 2}};
    Still still{.at_s = 5, .count = 2};
    still.counts[0] = {.process = 0, .value = 9};        // calls since it has children
    still.counts[1] = {.process = 1, .value = 777'000};  // bytes, libraries among them
    recording.stills = {still};
    recording.taken = {{.at_s = 5, .process = 0, .calls = 9}};
    read(10, 1001, library, 100);  // before it had children
    read(11, 1002.5, library, 500'000);
    read(11, 1003, data, 70'000);
    read(10, 1003, library, 100);
    read(10, 1004, data, 100);
    read(11, 1004, data, 30'000);
    read(11, 1006, data, 5'000);  // after the moment
  }
  void read(int pid, double at_s, std::uint32_t file, std::int64_t bytes) {
    Call call;
    call.begin_s = at_s;
    call.thread = builder.thread(pid, pid);
    call.file = file;
    call.bytes = bytes;
    call.kind = Kind::read;
    builder.add(call);
  }
};

TEST_F(ExactStills, HaveDataAloneAndNoCallsOnFiles) {
  make_exact(builder.take(), recording);
  EXPECT_TRUE(recording.reads_exact);
  EXPECT_EQ(recording.stills[0].counts[0].value, 7u);
  EXPECT_EQ(recording.stills[0].counts[1].value, 100'000u);
  EXPECT_EQ(recording.taken[0].calls, 7u);
}

TEST_F(ExactStills, StayAsTheyWereWhereCallsAreMissing) {
  builder.log().dropped = 1;
  make_exact(builder.take(), recording);
  EXPECT_FALSE(recording.reads_exact);
  EXPECT_EQ(recording.stills[0].counts[1].value, 777'000u);
}

}  // namespace
}  // namespace headrace::observe::observe_exact_stills_test
