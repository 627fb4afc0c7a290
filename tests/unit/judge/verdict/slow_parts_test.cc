// Which parts a matrix accuses, which it leaves open, and when it says nothing.
#include "harness/judge/verdict/slow_parts.h"

#include <gtest/gtest.h>

#include "harness/judge/statistics/draws.h"
#include "harness/judge/verdict/answers.h"

namespace headrace::judging::slow_parts_test {
namespace {

constexpr unsigned kNodes = 4;

/// Rates of 1 GB/s; what `slow` names reaches so much of it. Of one node all ways, of two the way from the first.
struct Slow {
  unsigned from;
  int to;  // below 0: all
  double share;
};

PairMatrix matrix(const std::vector<Slow>& slow, unsigned nodes = kNodes) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < nodes; ++i) names.push_back("node" + std::to_string(i));
  PairMatrix m(names);
  for (unsigned a = 0; a < nodes; ++a)
    for (unsigned b = 0; b < nodes; ++b)
      if (a != b) m.rate[a][b] = 1e9;
  for (const Slow& one : slow)
    for (unsigned b = 0; b < nodes; ++b) {
      if (b == one.from || (one.to >= 0 && b != static_cast<unsigned>(one.to))) continue;
      m.rate[one.from][b] = 1e9 * one.share;
      if (one.to < 0) m.rate[b][one.from] = 1e9 * one.share;
    }
  return m;
}

RecordedPoint point(const std::vector<PairMatrix>& each, const std::string& id = "tcp_stream") {
  RecordedPoint p;
  p.id = id;
  p.workload = "tcp_stream";
  p.status = PointStatus::ok;
  p.nodes = static_cast<unsigned>(each.front().names.size());
  p.looks = statistics::plan_looks({static_cast<unsigned>(each.size())});
  for (const PairMatrix& m : each) {
    RecordedRepetition& r = p.repetitions.emplace_back();
    r.elapsed_s = 1;
    r.pairs = m;
  }
  return p;
}

RecordedPoint alike(const PairMatrix& m, unsigned repetitions = 6, const std::string& id = "tcp_stream") {
  return point(std::vector<PairMatrix>(repetitions, m), id);
}

std::vector<Judgement> judged(const std::vector<RecordedPoint>& points) { return judge_parts(points); }

TEST(SlowParts, ASlowNodeFailsTheRun) {
  const std::vector<RecordedPoint> points{alike(matrix({{2, -1, 0.5}}))};
  const auto found = judge_run({}, points);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, kPairRate);
  EXPECT_EQ(found[0].scope, "node node2");
  EXPECT_EQ(found[0].outcome, Outcome::fail);
  EXPECT_NEAR(*found[0].measured, 0.5, 1e-9);
  EXPECT_EQ(found[0].need, 0.75);
  EXPECT_NE(found[0].next_step.find("take node2 out"), std::string::npos) << found[0].next_step;
  const Summary summary = summarize_run(found, points, 0);
  EXPECT_EQ(summary.word, Outcome::fail);
  EXPECT_EQ(summary.exit_code, 10);
}

TEST(SlowParts, AHealthyMatrixIsNotJudged) {
  const std::vector<RecordedPoint> points{alike(matrix({}))};
  EXPECT_TRUE(judge_run({}, points).empty());
  EXPECT_EQ(summarize_run(judge_run({}, points), points, 0).word, Outcome::measured);
}

TEST(SlowParts, LittleMoreThanTheLimitAccusesNone) { EXPECT_TRUE(judged({alike(matrix({{2, -1, 0.76}}))}).empty()); }

TEST(SlowParts, TooFewRepetitionsAccuseNone) {
  for (const unsigned repetitions : {1u, 3u}) {
    const auto found = judged({alike(matrix({{2, -1, 0.5}}), repetitions)});
    ASSERT_EQ(found.size(), 1u) << repetitions;
    EXPECT_EQ(found[0].outcome, Outcome::inconclusive);
    EXPECT_EQ(found[0].reason, Reason::few_reps);
    EXPECT_NE(found[0].explanation.find("no node is blamed"), std::string::npos) << found[0].explanation;
    EXPECT_EQ(found[0].next_step.find("take"), std::string::npos) << found[0].next_step;
  }
}

TEST(SlowParts, SlownessInSomeRepetitionsIsOpen) {
  const PairMatrix slow = matrix({{2, -1, 0.5}}), well = matrix({});
  const auto found = judged({point({slow, slow, slow, slow, well, well})});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].outcome, Outcome::inconclusive);
  EXPECT_TRUE(judged({point({slow, slow, well, well, well, well})}).empty());  // its median is healthy
}

TEST(SlowParts, ARepetitionWithAllSlowAccusesAndClearsNone) {
  PairMatrix slow = matrix({{2, -1, 0.5}}), all_slow = slow, healthy = matrix({}), healthy_slow = healthy;
  for (PairMatrix* m : {&all_slow, &healthy_slow})
    for (auto& row : m->rate)
      for (double& rate : row) rate *= rate > 0 ? 0.1 : 1;
  EXPECT_EQ(judged({point({slow, all_slow, slow, all_slow, slow, slow})}).at(0).outcome, Outcome::fail);
  EXPECT_TRUE(judged({point({healthy, healthy_slow, healthy_slow, healthy, healthy, healthy})}).empty());
}

TEST(SlowParts, OtherProgramsAccuseNone) {
  RecordedPoint p = alike(matrix({{2, -1, 0.5}}));
  for (RecordedRepetition& r : p.repetitions) r.disturbed = true;
  const auto found = judged({p});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].outcome, Outcome::inconclusive);
  EXPECT_EQ(found[0].reason, Reason::disturbed);
}

TEST(SlowParts, RecoveryAfterAPauseIsNotAccused) {
  RecordedPoint p = alike(matrix({{2, -1, 0.5}}));
  p.measured_again = true;
  for (const double share : {0.5, 0.5}) {
    RecordedRepetition& r = p.repetitions.emplace_back();
    r.look = static_cast<unsigned>(p.looks.looks.size());
    r.counted = false;
    r.elapsed_s = 1;
    r.pairs = matrix({{2, -1, share}});
  }
  EXPECT_EQ(judged({p}).at(0).outcome, Outcome::fail);
  for (RecordedRepetition& r : p.repetitions)
    if (!r.counted) r.pairs = matrix({});
  EXPECT_EQ(judged({p}).at(0).outcome, Outcome::inconclusive);
}

/// Pairs that reach 100, 60 and 40 % of each other by chance show no node that reaches half.
TEST(SlowParts, SoundPairsWithEqualSpreadHaveNoOutlier) {
  std::vector<PairMatrix> each;
  for (int r = 0; r < 6; ++r) {
    PairMatrix& m = each.emplace_back(matrix({{2, -1, 0.5}}, 5));
    const double shares[] = {1, 0.6, 0.4};
    unsigned n = static_cast<unsigned>(r);
    for (unsigned a = 0; a < 5; ++a)
      for (unsigned b = a + 1; b < 5; ++b)
        if (a != 2 && b != 2) m.rate[a][b] = m.rate[b][a] = 1e9 * shares[n++ % 3];
  }
  for (const Judgement& j : judged({point(each)}))
    EXPECT_NE(j.outcome, Outcome::fail) << j.scope << " " << j.explanation;
}

TEST(SlowParts, BothDirectionsOfALinkAreOneJudgement) {
  const auto found = judged({alike(matrix({{1, 3, 0.5}, {3, 1, 0.4}}))});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].scope, "link node1 to node3");
  EXPECT_EQ(found[0].outcome, Outcome::fail);
  EXPECT_NEAR(*found[0].measured, 0.4, 1e-9);
  EXPECT_EQ(found[0].metric, "tcp_stream.rate of node1 and node3");
}

/// In bisection the slow node meets one partner only, and looks like a link.
TEST(SlowParts, ALinkOfASlowNodeIsReportedByTheNode) {
  PairMatrix bisection = matrix({{2, -1, 0.5}}, 8);
  for (unsigned a = 0; a < 8; ++a)
    for (unsigned b = 0; b < 8; ++b)
      if (a % 4 != b % 4) bisection.rate[a][b] = -1;
  const RecordedPoint across = alike(bisection, 6, "tcp_stream/bisection");
  EXPECT_EQ(judged({across}).at(0).scope, "link node2 to node6");
  const auto both = judged({alike(matrix({{2, -1, 0.5}}, 8)), across});
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].scope, "node node2");
}

TEST(SlowParts, FewNodesOrPairsHaveNoBaseline) {
  EXPECT_TRUE(judged({alike(matrix({{2, -1, 0.5}}, 3))}).empty());
  PairMatrix two_pairs = matrix({{0, 2, 0.3}, {2, 0, 0.3}});
  for (unsigned a = 0; a < kNodes; ++a)
    for (unsigned b = 0; b < kNodes; ++b)
      if (a % 2 != b % 2) two_pairs.rate[a][b] = -1;
  EXPECT_TRUE(judged({alike(two_pairs)}).empty());
  RecordedPoint one_host = alike(matrix({{2, -1, 0.5}}));
  one_host.nodes = 1;
  EXPECT_TRUE(judged({one_host}).empty());
}

TEST(SlowParts, AnUnconnectedPartFailsWithoutBounds) {
  PairMatrix m = matrix({}, 3);
  m.rate[0][2] = m.rate[2][0] = -1;
  m.unreached = {{0, 2, "rank 0 (node0) cannot connect to rank 2 (node2)"}};
  const auto found = judged({alike(m, 1)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].scope, "link node0 to node2");
  EXPECT_EQ(found[0].outcome, Outcome::fail);
  EXPECT_NE(found[0].explanation.find("cannot connect"), std::string::npos);
}

/// One of rates reports the node, one without, such as of latencies, each link of it.
TEST(SlowParts, AnUnreachableNodeReportsForItsLinks) {
  PairMatrix rated = matrix({}), without(rated.names);
  for (unsigned other = 0; other < kNodes; ++other) {
    if (other == 2) continue;
    rated.rate[2][other] = rated.rate[other][2] = -1;
    rated.unreached.push_back({std::min(2u, other), std::max(2u, other), "timed out"});
  }
  without.unreached = rated.unreached;
  const auto scopes = [](const std::vector<Judgement>& found) {
    std::vector<std::string> all;
    for (const Judgement& j : found) all.push_back(j.scope);
    return all;
  };
  RecordedPoint latency = alike(without);
  latency.id = "latency";
  EXPECT_EQ(scopes(judged({alike(rated), latency})), (std::vector<std::string>{"node node2"}));
  EXPECT_EQ(scopes(judged({latency})).size(), kNodes - 1);
}

TEST(SlowParts, AConnectionAfterAPauseIsNotAccused) {
  PairMatrix m = matrix({}), well = m;
  m.rate[0][2] = m.rate[2][0] = -1;
  m.unreached = {{0, 2, "rank 0 (node0) cannot connect to rank 2 (node2)"}};
  RecordedPoint p = alike(m);
  p.measured_again = true;
  RecordedRepetition& again = p.repetitions.emplace_back();
  again.look = static_cast<unsigned>(p.looks.looks.size());
  again.counted = false;
  again.pairs = m;
  EXPECT_EQ(judged({p}).at(0).outcome, Outcome::fail);
  again.pairs = well;
  EXPECT_EQ(judged({p}).at(0).outcome, Outcome::inconclusive);
}

/// A/A: matrices of healthy nodes that differ as much as nodes on a busy machine.
TEST(SlowParts, HealthyNodesThatDifferAreSeldomAccused) {
  statistics::Draws draws(3);
  for (const unsigned nodes : {4u, 8u, 16u})
    for (const double spread : {0.02, 0.1, 0.3}) {
      int accused = 0, open = 0;
      for (int run = 0; run < 100; ++run) {
        std::vector<PairMatrix> each;
        for (int r = 0; r < 6; ++r) {
          PairMatrix& m = each.emplace_back(matrix({}, nodes));
          for (auto& row : m.rate)
            for (double& rate : row) {
              double normal = -6;
              for (int i = 0; i < 12; ++i) normal += draws.share();
              if (rate > 0) rate *= std::max(0.05, 1 + spread * normal);
            }
        }
        const std::vector<Judgement> found = judged({point(each)});
        for (const Judgement& j : found) accused += j.outcome == Outcome::fail;
        open += !found.empty();
      }
      EXPECT_LE(accused, 1) << nodes << " " << spread;
      EXPECT_LE(open, 10) << nodes << " " << spread;
    }
}

}  // namespace
}  // namespace headrace::judging::slow_parts_test
