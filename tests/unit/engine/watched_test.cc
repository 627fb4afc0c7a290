#include "harness/engine/watched.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "harness/engine/engine.h"

namespace headrace::engine::watched_test {
namespace {

using std::chrono::milliseconds;

EngineLimits impatient(double stall_s, double grace_s = 0.2) {
  EngineLimits limits;
  limits.stall_s = stall_s;
  limits.grace_s = grace_s;
  return limits;
}

class Watched : public ::testing::Test {
 protected:
  void TearDown() override { stop_signal = 0; }
};

TEST_F(Watched, RunsTheStepAndPassesItsReportsOn) {
  std::uint64_t heard = 0;
  const WatchedEnd end = run_watched(
      "testing", impatient(60), [&](std::uint64_t done, std::uint64_t, std::string_view) { heard = done; },
      [](const DataProgress& progress) { progress(7, 10, "at it"); });
  EXPECT_FALSE(end.hung);
  EXPECT_EQ(heard, 7u);
}

TEST_F(Watched, RethrowsTheStepsException) {
  const auto step = [](const DataProgress&) { throw RunError("no such thing"); };
  EXPECT_THROW(run_watched("testing", impatient(60), {}, step), RunError);
}

TEST_F(Watched, AnExceptionFromProgressEndsTheStep) {
  const auto stop = [](std::uint64_t, std::uint64_t, std::string_view) { throw 42; };
  const auto step = [](const DataProgress& progress) {
    for (std::uint64_t i = 0;; ++i) progress(i, 0, "for ever");
  };
  EXPECT_THROW(run_watched("testing", impatient(60), stop, step), int);
}

TEST_F(Watched, ASignOfLifeIsNewsAndNotAWord) {
  const auto go = std::make_shared<std::atomic<bool>>(true);
  // News now and then: longer than the limit in all, but never without any for so long.
  EXPECT_FALSE(run_watched("testing", impatient(6.0), {}, [](const DataProgress& progress) {
                 for (std::uint64_t i = 0; i < 15; ++i) {
                   progress(i, 15, "at it");
                   std::this_thread::sleep_for(milliseconds(500));
                 }
               }).hung);
  // The same words again and again.
  const WatchedEnd end = run_watched("testing", impatient(0.3), {}, [go](const DataProgress& progress) {
    while (*go) {
      progress(1, 15, "waiting");
      std::this_thread::sleep_for(milliseconds(5));
    }
  });
  *go = false;
  EXPECT_TRUE(end.hung);
  EXPECT_EQ(end.why, "TIMEOUT: testing did not go on for 0.3 s; storage or device does not answer");
}

TEST_F(Watched, AnAbandonedThreadReportsToNone) {
  const unsigned before = abandoned_threads();
  const auto go = std::make_shared<std::atomic<bool>>(true);
  const auto refused = std::make_shared<std::atomic<bool>>(false);
  auto heard = std::make_unique<std::uint64_t>(0);
  const WatchedEnd end = run_watched(
      "testing", impatient(0.2), [&heard](std::uint64_t done, std::uint64_t, std::string_view) { *heard = done; },
      [go, refused](const DataProgress& progress) {
        while (*go) std::this_thread::sleep_for(milliseconds(5));
        try {
          progress(99, 100, "back again");
        } catch (const std::exception&) {
          *refused = true;
        }
      });
  EXPECT_TRUE(end.hung);
  EXPECT_EQ(abandoned_threads(), before + 1);
  heard.reset();  // the caller is gone
  *go = false;
  for (int i = 0; i < 2000 && !*refused; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(*refused);
}

TEST_F(Watched, AfterASignalTheGraceCounts) {
  stop_signal = 15;
  const auto go = std::make_shared<std::atomic<bool>>(true);
  const WatchedEnd end = run_watched("testing", impatient(600, 0.2), {}, [go](const DataProgress&) {
    while (*go) std::this_thread::sleep_for(milliseconds(5));
  });
  *go = false;
  EXPECT_TRUE(end.hung);
  EXPECT_NE(end.why.find("did not end within 0.2 s of a signal"), std::string::npos) << end.why;
}

}  // namespace
}  // namespace headrace::engine::watched_test
