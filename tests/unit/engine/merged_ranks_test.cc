// What several ranks gave as one repetition: rates of phases, steadiness and disturbance of all
// together. (How each gives it: rank_sync_test.cc.)
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "harness/engine/explain/evidence.h"
#include "harness/engine/explain/questions.h"
#include "harness/engine/look_by_look.h"
#include "harness/engine/rank_sync.h"
#include "harness/judge/statistics/draws.h"
#include "tests/unit/scripted_workload.h"
#include "tests/unit/thread_ranks.h"

namespace headrace::merged_ranks_test {
namespace {

using Each = std::function<Repetition(unsigned rank)>;

/// Of `size` ranks on nodes of their own, merged at rank 0.
Repetition merged(unsigned size, const std::vector<MetricInfo>& catalogue, const Each& each,
                  AcrossRanks across = AcrossRanks::add) {
  std::vector<std::string> hosts;
  for (unsigned r = 0; r < size; ++r) hosts.push_back("node" + std::to_string(r));
  Repetition first;
  on_ranks(hosts, 30, [&](std::unique_ptr<Ranks> ranks) {
    const engine::RankSync together(*ranks);
    Repetition all = together.merged(each(ranks->rank()), ranks->everyone(), across, catalogue);
    ranks->barrier("the end", 30);
    if (ranks->rank() == 0) first = std::move(all);
  });
  return first;
}

/// 10 ops/s for `seconds`, with `rate(i)` bytes/s in the i-th.
PhaseResult phase(unsigned seconds, const std::function<double(unsigned)>& rate) {
  PhaseResult p;
  p.must_be = Level::level;
  p.elapsed_s = p.first_finish_s = seconds;
  for (unsigned i = 0; i < seconds; ++i) {
    p.series.push_back({.time_s = i + 0.5, .bytes_per_s = rate(i), .operations_per_s = 10});
    p.bytes += static_cast<std::uint64_t>(rate(i));
    p.operations += 10;
  }
  return p;
}

/// Opens of all ranks over the slowest one's time for opening, whatever else took how long.
TEST(MergedRanks, ARateIsOfItsOwnPhase) {
  const std::vector<MetricInfo> catalogue{{.name = "open_rate", .unit = "1/s", .description = ""}};
  const Repetition all = merged(3, catalogue, [](unsigned rank) {
    Repetition r;
    const unsigned opening = 10 * (rank + 1), listing = 500 / (rank + 1);
    r.phases = {phase(opening, [](unsigned) { return 1.0; }), phase(listing, [](unsigned) { return 1.0; })};
    r.metrics = {{"open_rate", 300.0 / opening, static_cast<double>(opening)}};
    return r;
  });
  ASSERT_EQ(all.metrics.size(), 1u);
  EXPECT_DOUBLE_EQ(all.metrics[0].value, 900.0 / 30);
  EXPECT_EQ(all.metrics[0].seconds, 30);
}

/// All work, in the time of the slowest rank, whichever of them that is.
TEST(MergedRanks, TheSlowestRankGivesTheTime) {
  const std::vector<MetricInfo> catalogue{{.name = "read_rate", .unit = "1/s", .description = ""},
                                          {.name = "open_rate", .unit = "1/s", .description = ""}};
  for (unsigned slowest = 0; slowest < 3; ++slowest) {
    const Repetition all = merged(3, catalogue, [&](unsigned rank) {
      Repetition r;
      const unsigned seconds = rank == slowest ? 40 : 10 + rank;
      r.phases = {phase(seconds, [](unsigned) { return 5.0; })};
      r.metrics = {{"read_rate", 10, 0}, {"open_rate", 200.0 / seconds, static_cast<double>(seconds)}};
      return r;
    });
    const std::uint64_t quick = slowest == 0 ? 11 + 12 : slowest == 1 ? 10 + 12 : 10 + 11;
    ASSERT_EQ(all.phases.size(), 1u);
    const PhaseResult& p = all.phases[0];
    EXPECT_EQ(p.elapsed_s, 40) << slowest;
    EXPECT_EQ(p.first_finish_s, slowest == 0 ? 11 : 10) << slowest;
    EXPECT_EQ(p.operations, 10 * (40 + quick)) << slowest;
    EXPECT_EQ(p.bytes, 5 * (40 + quick)) << slowest;
    ASSERT_EQ(all.metrics.size(), 2u);
    EXPECT_DOUBLE_EQ(all.metrics[0].value, 10.0 * static_cast<double>(40 + quick) / 40) << slowest;
    EXPECT_DOUBLE_EQ(all.metrics[1].value, 3 * 200.0 / 40) << slowest;
    EXPECT_EQ(all.metrics[1].seconds, 40) << slowest;
  }
}

/// What is no rate is reported as the worst rank has it.
TEST(MergedRanks, AValueThatIsNoRateIsTheWorstRanks) {
  const std::vector<MetricInfo> catalogue{
      {.name = "stall", .unit = "s", .better = Better::lower, .description = ""},
      {.name = "hit_ratio", .unit = "ratio", .better = Better::higher, .description = ""},
      {.name = "block_size", .unit = "B", .better = Better::neither, .description = ""}};
  const Repetition all = merged(3, catalogue, [](unsigned rank) {
    const double stalls[] = {2, 7, 3}, hits[] = {0.9, 0.4, 0.6}, sizes[] = {4, 5, 6};
    Repetition r;
    r.phases = {phase(10, [](unsigned) { return 1.0; })};
    r.metrics = {{"stall", stalls[rank], 0}, {"hit_ratio", hits[rank], 0}, {"block_size", sizes[rank], 0}};
    return r;
  });
  ASSERT_EQ(all.metrics.size(), 3u);
  EXPECT_EQ(all.metrics[0].value, 7);
  EXPECT_EQ(all.metrics[1].value, 0.4);
  EXPECT_EQ(all.metrics[2].value, 4);
}

/// What all ranks know alike, or one finds out for all, is not added up.
TEST(MergedRanks, ValuesReportedForAllAreTheFirstRanks) {
  const std::vector<MetricInfo> catalogue{{.name = "bandwidth", .unit = "B/s", .description = ""}};
  const auto describe = [&](AcrossRanks across) {
    return merged(
               3, catalogue,
               [](unsigned rank) {
                 Repetition r;
                 r.phases = {phase(10, [](unsigned) { return 1.0; })};
                 r.metrics = {{"bandwidth", 100.0 * (3 - rank), 10}};
                 return r;
               },
               across)
        .metrics.at(0)
        .value;
  };
  EXPECT_DOUBLE_EQ(describe(AcrossRanks::first), 300);
  EXPECT_DOUBLE_EQ(describe(AcrossRanks::add), 600);
}

/// A rank that was in none of the groups has no parts.
TEST(MergedRanks, ARankWithoutPartsAddsNone) {
  const Repetition all = merged(2, {}, [](unsigned rank) {
    Repetition r;
    r.phases = {phase(10, [](unsigned) { return 1.0; })};
    if (rank == 1) r.phases[0].parts.resize(3);
    return r;
  });
  EXPECT_TRUE(all.phases.at(0).parts.empty());
}

/// Of ranks that move no bytes, operations per second show which one is the slowest.
TEST(MergedRanks, TheSlowestOfRanksWithoutBytesIsByOperations) {
  const Repetition all = merged(8, {}, [](unsigned rank) {
    Repetition r;
    r.phases = {phase(32, [](unsigned) { return 0.0; })};
    if (rank == 5) r.phases[0].operations /= 2;
    r.disturbance.disturbed = rank == 5;
    r.disturbance.why = rank == 5 ? "foreign I/O" : "";
    return r;
  });
  EXPECT_TRUE(all.disturbance.disturbed);
}

/// Each rank has its ups and downs; together they are level.
TEST(MergedRanks, SteadinessIsThatOfAllTogether) {
  const auto step = [](bool up) { return [up](unsigned i) { return (i < 32) == up ? 80.0 + i % 3 : 120.0 + i % 3; }; };
  const auto ranks = [&](unsigned falling) {
    return merged(8, {}, [&](unsigned rank) {
      Repetition r;
      r.phases = {phase(64, step(rank >= falling))};
      r.steady = false;
      r.steady_why = "the second half is 50 % faster";
      return r;
    });
  };
  EXPECT_TRUE(ranks(4).steady) << ranks(4).steady_why;
  const Repetition uneven = ranks(8);
  EXPECT_FALSE(uneven.steady);
  EXPECT_EQ(uneven.steady_why.find("all ranks together: the second half is 3"), 0u) << uneven.steady_why;
}

/// Of 64 ranks on quiet machines some have always been disturbed a little.
TEST(MergedRanks, AFewOfManyRanksDisturbNothing) {
  const auto disturbed = [](const std::function<bool(unsigned)>& hit, unsigned slowest) {
    return merged(64, {},
                  [&](unsigned rank) {
                    Repetition r;
                    r.phases = {phase(32, [&](unsigned i) { return (rank == slowest ? 90.0 : 100.0) + i % 3; })};
                    r.disturbance.disturbed = hit(rank);
                    r.disturbance.why = hit(rank) ? "foreign I/O" : "";
                    return r;
                  })
        .disturbance;
  };
  EXPECT_FALSE(disturbed([](unsigned rank) { return rank % 16 == 3; }, 5).disturbed);
  const Disturbance slow = disturbed([](unsigned rank) { return rank == 5; }, 5);
  EXPECT_TRUE(slow.disturbed);
  EXPECT_EQ(slow.why, "rank 5 (node5): foreign I/O");
  const Disturbance many = disturbed([](unsigned rank) { return rank < 22; }, 50);
  EXPECT_TRUE(many.disturbed);
  EXPECT_NE(many.why.find("; and 19 more ranks"), std::string::npos) << many.why;
}

/// 64 ranks that each swing by 10 % with a phase of their own, as those that share one storage do; all of them lose `loss`
/// from beginning to end. What comes of asking them for `need`, and how many of all swing by more than one may.
struct ManyRanks {
  Judgement judgement;
  double unsteady = 0;  // share of the ranks' own repetitions

  ManyRanks(double need, double loss) {
    constexpr unsigned kRanks = 64;
    testing::ScriptedPlan scripted;
    scripted.add();
    scripted.need("read_bandwidth", need * kRanks);
    const auto questions = engine::questions(scripted.plan, 1);
    const std::vector<MetricInfo> catalogue{{.name = "read_bandwidth", .unit = "B/s", .description = ""}};
    std::vector<PointResult> results{engine::unmeasured(scripted.plan.points.front())};
    PointResult& result = results.front();
    result.looks = statistics::plan_looks({5, 10, 15});
    statistics::Draws seeds(7);
    std::atomic<unsigned> wavering = 0;
    const auto take = [&](unsigned count, unsigned look, unsigned) {
      for (; count > 0; --count) {
        const std::uint64_t seed = seeds.next();
        result.repetitions.push_back(merged(kRanks, catalogue, [&](unsigned rank) {
          statistics::Draws draws(seed + rank);
          const double begun = draws.share();
          Repetition r;
          r.phases = {phase(60, [&](unsigned i) {
            const double swing = 0.1 * std::sin(2 * M_PI * (begun + i / 90.0)) + 0.05 * (draws.share() - 0.5);
            return 1e8 * (1 + swing) * (1 - loss * i / 60);
          })};
          r.metrics = {{"read_bandwidth", static_cast<double>(r.phases[0].bytes) / 60, 60}};
          std::vector<double> rates;
          for (const SeriesPoint& point : r.phases[0].series) rates.push_back(point.bytes_per_s);
          const statistics::Steady alone = statistics::judge_steady(rates);
          r.steady = alone.steady;
          r.steady_why = alone.why;
          wavering += !alone.steady;
          return r;
        }));
        result.repetitions.back().look = look;
      }
    };
    engine::measure_look_by_look(result, questions, 2,
                                 {.take = take, .must_stop = [] { return false; }, .summarize = [] {}});
    result.status = PointStatus::ok;
    judgement = judging::answer_all(questions, engine::recorded(results)).front();
    unsteady = wavering / static_cast<double>(kRanks * result.repetitions.size());
  }
};

TEST(MergedRanks, SixtyFourRanksOfAQuietMachineEndWithAVerdict) {
  const ManyRanks quiet(8e7, 0);
  EXPECT_GE(quiet.unsteady, 0.3);
  EXPECT_EQ(quiet.judgement.outcome, Outcome::pass) << quiet.judgement.explanation;
  const ManyRanks short_of(1.2e8, 0);
  EXPECT_EQ(short_of.judgement.outcome, Outcome::fail) << short_of.judgement.explanation;
  const ManyRanks slower(5e7, 0.3);
  EXPECT_EQ(slower.judgement.reason, Reason::not_steady) << slower.judgement.explanation;
  std::printf("64 ranks, %.0f %% of whose repetitions are not steady alone: %s\n", 100 * quiet.unsteady,
              std::string(to_string(quiet.judgement.outcome)).c_str());
}

/// What the ranks' workers beside the phase did reaches rank 0: all bytes, from the first begin to the last end.
TEST(MergedRanks, BackgroundWorkIsOfAllRanks) {
  const Repetition all = merged(3, {}, [](unsigned rank) {
    Repetition r;
    r.phases = {phase(10, [](unsigned) { return 100.0; })};
    if (rank == 0) return r;  // saves nothing itself
    BackgroundResult beside;
    beside.begin_s = 2.0 * rank;
    beside.end_s = 4.0 + rank;
    beside.bytes = 1000 * rank;
    beside.operations = rank;
    beside.errors = 1;
    for (unsigned i = 0; i < rank; ++i) beside.latency.add(1000 * rank);
    beside.series = {{.time_s = 0.5, .bytes_per_s = 100.0 * rank}};
    r.phases[0].background = std::move(beside);
    return r;
  });
  ASSERT_TRUE(all.phases.at(0).background);
  const BackgroundResult& beside = *all.phases[0].background;
  EXPECT_EQ(beside.begin_s, 2);
  EXPECT_EQ(beside.end_s, 6);
  EXPECT_EQ(beside.bytes, 3000u);
  EXPECT_EQ(beside.operations, 3u);
  EXPECT_EQ(beside.errors, 2u);
  EXPECT_EQ(beside.latency.total(), 3u);
  EXPECT_EQ(beside.latency.min_ns(), 1000u);
  EXPECT_EQ(beside.latency.max_ns(), 2000u);
  ASSERT_EQ(beside.series.size(), 1u);
  EXPECT_EQ(beside.series[0].bytes_per_s, 300);
  EXPECT_FALSE(merged(2, {},
                      [](unsigned) {
                        Repetition r;
                        r.phases = {phase(10, [](unsigned) { return 100.0; })};
                        return r;
                      })
                   .phases.at(0)
                   .background);
}

/// Each member of a phase, as its description says: added, the slowest one's, one after the other, or begun anew.
TEST(MergedRanks, APhaseIsMergedMemberByMember) {
  const Repetition all = merged(2, {}, [](unsigned rank) {
    Repetition r;
    PhaseResult p = phase(10 + rank, [](unsigned) { return 100.0; });
    p.name = "read";
    p.first_finish_s = 5.0 - rank;
    p.cpu_s = 1;
    p.errors = 1;
    p.storage_bytes = p.device_bytes = 50;
    p.latency.add(100 + rank);
    p.parts.resize(2);
    p.parts[1].add(7);
    p.worker_finish_s = {1.0 + rank, 2.0};
    p.worker_bytes = {10, 20 + rank};
    p.steady_from_s = 3;
    p.cut_bytes = p.cut_operations = 9;
    p.not_steady = "said of itself alone";
    r.phases = {std::move(p)};
    r.cache = nothing_proven(CacheState::asis);
    r.cache.delivered_bytes = 11;
    r.cache.counter = "counter of rank " + std::to_string(rank);
    return r;
  });
  const PhaseResult& p = all.phases.at(0);
  EXPECT_EQ(p.name, "read");
  EXPECT_EQ(p.elapsed_s, 11);
  EXPECT_EQ(p.first_finish_s, 4);
  EXPECT_EQ(p.cpu_s, 2);
  EXPECT_EQ(p.bytes, 2100u);
  EXPECT_EQ(p.operations, 210u);
  EXPECT_EQ(p.errors, 2u);
  EXPECT_EQ(p.storage_bytes, 100u);
  EXPECT_EQ(p.device_bytes, 100u);
  EXPECT_EQ(p.latency.total(), 2u);
  EXPECT_EQ(p.parts.at(0).total(), 0u);
  EXPECT_EQ(p.parts.at(1).total(), 2u);
  EXPECT_EQ(p.worker_finish_s, (std::vector<double>{1, 2, 2, 2}));
  EXPECT_EQ(p.worker_bytes, (std::vector<std::uint64_t>{10, 20, 10, 21}));
  EXPECT_EQ(p.steady_from_s, 0);
  EXPECT_EQ(p.cut_bytes + p.cut_operations, 0u);
  EXPECT_EQ(p.not_steady, "");
  ASSERT_EQ(p.ranks.size(), 2u);
  EXPECT_EQ(p.ranks[1].elapsed_s, 11);
  EXPECT_EQ(p.slowest_rank, 0);
  EXPECT_EQ(all.cache.delivered_bytes, 22u);
  EXPECT_EQ(all.cache.counter, "counter of rank 0");
}

}  // namespace
}  // namespace headrace::merged_ranks_test
