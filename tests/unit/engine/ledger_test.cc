// What counts as a disturbance, from counters that a test makes up.
#include "harness/engine/ledger.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace headrace::engine::ledger_test {
namespace {

constexpr std::uint64_t kGB = 1'000'000'000;

/// One phase of two seconds that read 1 GB from the device.
struct Phase {
  Counters before, after;
  Phase() {
    after.at_ns = 2 * kGB;
    after.cpu_s = 1.5;
    after.self_read = after.device_read = kGB;
    after.all_ticks = 400;
  }
  Disturbance operator()(std::uint64_t delivered = kGB) const {
    Ledger ledger;
    ledger.add(before, after);
    return ledger.judge(delivered);
  }
};

TEST(Ledger, AQuietMachineDisturbsNoRun) {
  Phase p;
  const Disturbance d = p();
  EXPECT_FALSE(d.disturbed) << d.why;
  EXPECT_EQ(d.foreign_bytes, 0u);
  EXPECT_EQ(d.io_pressure, -1);  // the kernel did not report
}

TEST(Ledger, ForeignBytesOnTheDevice) {
  Phase p;
  p.after.device_read += 15'000'000;
  p.after.device_written += 4'000'000;
  EXPECT_FALSE(p().disturbed);  // 1.9 %
  p.after.device_written += 2'000'000;
  EXPECT_TRUE(p().disturbed);
  EXPECT_EQ(p().why, "foreign I/O on the device, 2 % of the test's bytes");
  EXPECT_EQ(p().foreign_bytes, 21'000'000u);
}

TEST(Ledger, ForeignIoDoesNotDisturbAWarmRead) {
  Phase p;
  p.after.self_read = 0;
  EXPECT_FALSE(p().disturbed);
}

TEST(Ledger, WithoutDeliveredBytesForeignReadsAreComparedWithOwnOnes) {
  Phase p;
  p.after.self_read = 100'000'000;
  p.after.device_read = 101'000'000;
  p.after.device_written = 500'000'000;  // the journal, written by the kernel
  EXPECT_FALSE(p(0).disturbed) << p(0).why;
  p.after.device_read = 110'000'000;
  EXPECT_EQ(p(0).why, "foreign I/O on the device, 10 % of the test's bytes");
  p.after.device_read = 2'100'000'000;
  EXPECT_EQ(p(0).why, "foreign I/O on the device, 20 times the test's bytes");
  p.after.self_read = 1'000'000;  // names were in memory
  EXPECT_FALSE(p(0).disturbed) << p(0).why;
}

TEST(Ledger, AFewForeignBlocksAreNothing) {
  Phase p;
  p.after.self_read = 10'000'000;
  p.after.device_read = 13'000'000;
  EXPECT_FALSE(p(10'000'000).disturbed);
}

TEST(Ledger, StolenAndThrottledTime) {
  Phase p;
  p.after.steal_ticks = 40;
  EXPECT_EQ(p().why, "the hypervisor took 10 % of the processor time");
  EXPECT_DOUBLE_EQ(p().cpu_steal, 0.1);
  p.after.steal_ticks = 0;
  p.before.throttled_s = 1.0;
  p.after.throttled_s = 1.5;
  EXPECT_TRUE(p().disturbed);
  EXPECT_DOUBLE_EQ(p().throttled_s, 0.5);
  p.after.at_ns = 100'000'000;  // too short to decide
  EXPECT_FALSE(p().disturbed);
}

TEST(Ledger, OtherPrograms) {
  Phase p;
  p.after.user_ticks = 60 + 18;  // 18 of 400 ticks are not ours
  p.after.user_s = 0.6;
  EXPECT_FALSE(p().disturbed) << p().why;
  EXPECT_DOUBLE_EQ(p().foreign_cpu, 18.0 / 400);
  p.after.user_ticks = 60 + 40;
  EXPECT_EQ(p().why, "other programs took 10 % of the processor time");
  p.after.at_ns = 100'000'000;  // too short to decide
  EXPECT_FALSE(p().disturbed);
}

TEST(Ledger, TheControlProbe) {
  Phase p;
  Ledger ledger;
  ledger.add(p.before, p.after);
  EXPECT_FALSE(ledger.judge(kGB, 1.00e6, 1.04e6).disturbed);
  const Disturbance slower = ledger.judge(kGB, 1.00e6, 1.20e6);
  EXPECT_EQ(slower.why, "the machine became 20 % slower during the repetition (control probe)");
  EXPECT_EQ(slower.probe_before_ns, 1.00e6);
  EXPECT_EQ(slower.probe_after_ns, 1.20e6);
  EXPECT_EQ(ledger.judge(kGB, 1.00e6, 0.90e6).why,
            "the machine became 10 % faster during the repetition (control probe)");
  EXPECT_FALSE(ledger.judge(kGB, -1, 1.20e6).disturbed) << "was not taken";
  p.after.at_ns = 100'000'000;
  Ledger brief;
  brief.add(p.before, p.after);
  EXPECT_FALSE(brief.judge(kGB, 1.00e6, 1.20e6).disturbed) << "too short to tell";
}

TEST(Ledger, PressureIsAShareOfTheTime) {
  Phase p;
  p.before.io_us = 500'000;
  p.after.io_us = 1'500'000;
  EXPECT_DOUBLE_EQ(p().io_pressure, 0.5);
}

TEST(Ledger, PhasesAddUpAndCountersThatWentBackCountAsNothing) {
  Phase p;
  Ledger ledger;
  ledger.add(p.before, p.after);
  ledger.add(p.before, p.after);
  std::swap(p.before, p.after);
  p.after.at_ns = p.before.at_ns + 1;
  p.after.cpu_s = p.before.cpu_s;
  ledger.add(p.before, p.after);
  EXPECT_EQ(ledger.storage_bytes(), 2 * kGB);
  EXPECT_DOUBLE_EQ(ledger.cpu_s(), 3);
}

TEST(Ledger, ALimitIsReachedByTheWorkOfASecond) {
  const Phase p;  // half a GB/s
  Ledger ledger;
  ledger.add(p.before, p.after);
  system::IoLimits limits;
  limits.read_bytes = kGB;
  EXPECT_EQ(ledger.held_to(limits), "");
  limits.read_bytes = kGB / 2;
  EXPECT_EQ(ledger.held_to(limits), "500 MB/s of reads");
}

TEST(Ledger, PressureIsReportedWhereTheKernelCountsIt) {
  std::ifstream file("/proc/pressure/cpu");
  std::string line;
  if (!std::getline(file, line)) GTEST_SKIP() << "this kernel tells no pressure";
  EXPECT_TRUE(read_counters(std::nullopt).cpu_us);
}

TEST(Ledger, ReadsThisMachine) {
  const Counters before = read_counters(std::nullopt);
  volatile double sum = 0;
  for (int i = 0; i < 20'000'000; ++i) sum = sum + i;
  const Counters after = read_counters(std::nullopt);
  EXPECT_GT(after.at_ns, before.at_ns);
  EXPECT_GT(after.cpu_s, before.cpu_s);
  EXPECT_GT(after.all_ticks, 0);
}

}  // namespace
}  // namespace headrace::engine::ledger_test
