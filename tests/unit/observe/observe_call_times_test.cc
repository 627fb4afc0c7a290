#include "harness/observe/calls/call_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace headrace::observe::calls::observe_call_times_test {
namespace {

/// Two readers of 1 s each, half of it together; an open; an import, a read at the end and one that failed.
Log reads() {
  LogBuilder builder("strace");
  const std::uint32_t data = builder.file("/data/a.bin"), program = builder.file("/usr/lib/libc.so.6");
  const std::uint32_t one = builder.thread(1), other = builder.thread(2);
  builder.add(
      {.begin_s = 10, .seconds = 0.001, .thread = one, .file = data, .bytes = 3, .kind = Kind::open, .to_read = true});
  builder.add({.begin_s = 11, .seconds = 1, .thread = one, .file = data, .bytes = 100, .kind = Kind::read});
  builder.add({.begin_s = 11.5, .seconds = 1, .thread = other, .file = data, .bytes = 100, .kind = Kind::read});
  builder.add({.begin_s = 11.55, .seconds = 1, .thread = other, .file = data, .bytes = 0, .kind = Kind::read});
  builder.add({.begin_s = 11.6, .seconds = 1, .thread = other, .file = program, .bytes = 100, .kind = Kind::read});
  builder.add({.begin_s = 11.7, .seconds = 1, .thread = one, .file = data, .bytes = -1, .kind = Kind::read});
  Log log = builder.take();
  log.durations_known = true;
  return log;
}

double seconds_in_flight(const CallTimes& times) {
  return std::accumulate(times.in_flight.begin(), times.in_flight.end(), 0.0) * times.part_s;
}

TEST(CallTimes, CountsReadsOfDataAndHowManyAreInFlight) {
  const auto times = call_times(reads(), 0, 4);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->read.total(), 2u);
  EXPECT_EQ(times->read.max_ns(), 1'000'000'000u);
  EXPECT_EQ(times->open.total(), 1u);
  EXPECT_NEAR(static_cast<double>(times->open.max_ns()), 1e6, 1);
  EXPECT_EQ(times->most_in_flight, 2u);
  EXPECT_NEAR(times->mean_in_flight, 2 / 1.5, 1e-9);
  EXPECT_NEAR(seconds_in_flight(*times), 2, 1e-9);
  EXPECT_NEAR(*std::max_element(times->in_flight.begin(), times->in_flight.end()), 2, 1e-9);
  EXPECT_NEAR(times->in_flight[50], 0, 1e-9) << "half a second after the first call nothing is read";
}

TEST(CallTimes, OfReadsThatFollowEachOtherOneIsInFlight) {
  LogBuilder builder("strace");
  const std::uint32_t data = builder.file("/data/a.bin"), one = builder.thread(1);
  for (const double begin_s : {0.0, 0.5})
    builder.add({.begin_s = begin_s, .seconds = 0.5, .thread = one, .file = data, .bytes = 9, .kind = Kind::read});
  Log log = builder.take();
  log.durations_known = true;
  EXPECT_EQ(call_times(log, 0, 1)->most_in_flight, 1u);
}

TEST(CallTimes, ReadsLieWhereTheObservationHasThem) {
  const auto later = call_times(reads(), 1, 5);
  EXPECT_NEAR(later->in_flight[100], 0, 1e-9);     // 1.25 s
  EXPECT_NEAR(later->in_flight[170], 1, 1e-9);     // 2.13 s
  const auto before = call_times(reads(), -2, 4);  // reads before the observation began are in no part of it
  EXPECT_NEAR(seconds_in_flight(*before), 0.5, 1e-9);
}

TEST(CallTimes, WithoutTheTimeOfEachCallThereAreNone) {
  Log log = reads();
  log.durations_known = false;
  EXPECT_FALSE(call_times(log, 0, 4));
  log = reads();
  log.dropped = 1;
  EXPECT_FALSE(call_times(log, 0, 4)) << "later parts would look idle";
  log = reads();
  log.source = "Darshan";  // its times may be means
  EXPECT_FALSE(call_times(log, 0, 4));
  log = reads();
  std::erase_if(log.calls, [](const Call& call) { return call.kind == Kind::read; });
  EXPECT_FALSE(call_times(log, 0, 4));
}

}  // namespace
}  // namespace headrace::observe::calls::observe_call_times_test
