// How many batches lie ready, from a loader whose numbers are laid.
#include "harness/observe/ahead.h"

#include <gtest/gtest.h>

namespace headrace::observe {
namespace {

/// A process that takes a batch of 8 every 0.1 s in two calls, and workers that have read `each` batches more than was taken.
/// Each sample has 1000 bytes.
Recording laid(unsigned workers, unsigned each, bool waiting = true, double first_s = 0.2) {
  Recording recording;
  recording.processes = {{.pid = 1}};
  for (unsigned w = 0; w < workers; ++w)
    recording.processes.push_back({.pid = static_cast<int>(10 + w), .parent = 0, .first_s = first_s});
  for (int i = 0; i < 20; ++i) {
    Slice slice;
    slice.begin_s = i * 0.2;
    slice.end_s = slice.begin_s + 0.2;
    ProcessSlice taker;
    taker.looked_calls = i == 0 ? 2 : 4;  // two batches in each; one was taken before the workers were noticed
    slice.processes.push_back(taker);
    for (unsigned w = 0; w < workers; ++w) {
      ProcessSlice worker;
      worker.process = 1 + w;
      worker.lead[static_cast<std::size_t>(waiting ? Wait::hand_over : Wait::read)] = 20;
      const unsigned ready = i == 0 ? each * workers : 0;
      worker.counted.read_calls_bytes = (ready + 2) * 8 * 1000 / workers;
      slice.processes.push_back(worker);
    }
    recording.slices.push_back(slice);
  }
  return recording;
}

Roles roles_of(unsigned workers) {
  Roles roles;
  roles.consumers = {0};
  for (unsigned w = 0; w < workers; ++w) roles.workers.push_back(1 + w);
  roles.generations = {workers};
  return roles;
}

TEST(FindAhead, TellsTheBatchAndHowManyLieReady) {
  std::string why;
  for (const unsigned each : {1u, 2u, 4u}) {
    const auto ahead = find_ahead(laid(4, each), roles_of(4), 2, 1000, 0, why);
    ASSERT_TRUE(ahead) << why;
    EXPECT_NEAR(ahead->batch, 8, 1e-6);
    EXPECT_LT(ahead->batch_error, 1e-3);
    ASSERT_TRUE(ahead->each) << each;
    EXPECT_EQ(*ahead->each, each);
  }
}

TEST(FindAhead, TellsNoNumberWhereOneBatchMoreWouldMakeAnother) {
  std::string why;
  const auto one_worker = find_ahead(laid(1, 2), roles_of(1), 2, 1000, 0, why);
  ASSERT_TRUE(one_worker);
  EXPECT_FALSE(one_worker->each);
  const auto uneven = find_ahead(laid(2, 2), roles_of(2), 2, 1000, 2, why);  // sizes that tell little of counts
  ASSERT_TRUE(uneven);
  EXPECT_FALSE(uneven->each);
}

TEST(FindAhead, SaysWhyItCannotTell) {
  std::string why;
  EXPECT_FALSE(find_ahead(laid(2, 2, false), roles_of(2), 2, 1000, 0, why));
  EXPECT_NE(why.find("too seldom"), std::string::npos) << why;
  EXPECT_FALSE(find_ahead(laid(2, 2, true, 0), roles_of(2), 2, 1000, 0, why));
  EXPECT_NE(why.find("before the watching"), std::string::npos) << why;
  EXPECT_FALSE(find_ahead(laid(2, 2), roles_of(2), 0, 1000, 0, why));
  Roles anew = roles_of(2);
  anew.generations = {1, 1};
  EXPECT_FALSE(find_ahead(laid(2, 2), anew, 2, 1000, 0, why));
  EXPECT_NE(why.find("anew"), std::string::npos) << why;
}

}  // namespace
}  // namespace headrace::observe
