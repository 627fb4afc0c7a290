// Google Benchmark as the engine: one call per repetition, errors counted, nothing printed.
#include "harness/engine/driver.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headrace::engine::driver_test {
namespace {

TEST(Driver, CallsTheBodyOncePerRepetition) {
  int calls = 0;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const DriverReport report = drive("small_file_read/engine:posix", 7, [&] {
    ++calls;
    return Sample{.elapsed_s = 0.5, .values = {{"threads", 3}, {"read_bandwidth", 1e9}}, .error = ""};
  });
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(calls, 7);
  EXPECT_EQ(report.repetitions, 7u);
  EXPECT_EQ(report.errors, 0u);
}

TEST(Driver, FailedRepetitionsAreCountedAndTheOthersGoOn) {
  for (const int bad : {0, 1, 3}) {
    int call = 0;
    const DriverReport report = drive(
        "p", 4, [&] { return Sample{.elapsed_s = 0.001, .values = {}, .error = call++ == bad ? "disk on fire" : ""}; });
    EXPECT_EQ(call, 4);
    EXPECT_EQ(report.repetitions, 4u);
    EXPECT_EQ(report.errors, 1u);
  }
}

TEST(Driver, TheEnvironmentDoesNotChangeTheRun) {
  ::setenv("BENCHMARK_FILTER", "nothing-of-this-name", 1);
  ::setenv("BENCHMARK_REPETITIONS", "50", 1);
  EXPECT_EQ(drive("p", 2, [] { return Sample{.elapsed_s = 0, .values = {}, .error = ""}; }).repetitions, 2u);
}

TEST(DriverDeathTest, AValueThatIsNoNumberIsOurOwnBug) {
  EXPECT_DEATH(drive("p", 1,
                     [] {
                       return Sample{.elapsed_s = 1, .values = {{"x", NAN}}, .error = ""};
                     }),
               "metric x is not finite");
}

}  // namespace
}  // namespace headrace::engine::driver_test
