// How much more a client could have taken, and what it would lack first.
#include "harness/engine/explain/client_headroom.h"

#include <gtest/gtest.h>

namespace headrace::client_headroom_test {
namespace {

struct Made {
  Point point;
  PointResult result;
  /// Two repetitions of 10 s that read 20 GB each by `cpu_s`, and one that does not count.
  explicit Made(double cpu_s, CacheState cache = CacheState::cold) {
    point.id = "small_file_read/job";
    point.cache = cache;
    result.point = &point;
    for (const bool counted : {true, true, false}) {
      Repetition& r = result.repetitions.emplace_back();
      r.counted = counted;
      PhaseResult& phase = r.phases.emplace_back();
      phase.elapsed_s = counted ? 10 : 1;
      phase.cpu_s = cpu_s;
      phase.bytes = 20'000'000'000;
      phase.operations = 1000;
    }
  }
  std::optional<ClientHeadroom> of(double cores, double ports) const { return client_headroom(result, cores, ports); }
};

TEST(ClientHeadroom, IsTheRestOfTheProcessors) {
  const auto one = Made(40).of(16, 0);
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->rate, 2e9);
  EXPECT_DOUBLE_EQ(one->busy, 4);
  EXPECT_DOUBLE_EQ(one->could_take, 8e9) << "4 of 16 processors";
  EXPECT_EQ(one->limit, "processors");
}

TEST(ClientHeadroom, PortsMayEndFirst) {
  const auto one = Made(40).of(16, 3.125e9);
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->could_take, 3.125e9);
  EXPECT_EQ(one->limit, "ports");
  EXPECT_EQ(Made(150).of(16, 3.125e9)->limit, "processors") << "15 of 16 are busy";
}

TEST(ClientHeadroom, OfSeveralHostsCountsAll) {
  Made made(40);
  made.result.nodes = 2;
  EXPECT_DOUBLE_EQ(made.of(16, 0)->could_take, 16e9);
  EXPECT_DOUBLE_EQ(made.of(16, 3.125e9)->could_take, 6.25e9);
}

TEST(ClientHeadroom, IsNotReportedWhereNothingShowsIt) {
  EXPECT_FALSE(Made(0).of(16, 0).has_value()) << "no processor time was measured";
  EXPECT_FALSE(Made(40, CacheState::asis).of(16, 0).has_value()) << "not of storage";
  Made failed(40);
  for (Repetition& r : failed.result.repetitions) r.status = RepetitionStatus::error;
  EXPECT_FALSE(failed.of(16, 0).has_value());
}

TEST(ClientHeadroom, IsAFactOfThePoint) {
  Made made(40);
  report_client_headrooms(std::span(&made.result, 1), 16, 3.125e9);
  const Facts expected{{"client_headroom", "1.56"}, {"client_limit", "ports"}, {"client_processors", "4 of 16 busy"}};
  EXPECT_EQ(made.result.facts, expected);
}

}  // namespace
}  // namespace headrace::client_headroom_test
