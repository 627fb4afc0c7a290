// Verdicts on systems whose true rate is known: how often they are wrong, and how often they find
// what is there. All of it by the product's own code: looks, taking again, cutting, judging,
// choosing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "harness/engine/explain/evidence.h"
#include "harness/engine/explain/questions.h"
#include "harness/engine/look_by_look.h"
#include "harness/engine/phase_result.h"
#include "tests/unit/scripted_workload.h"

namespace headrace::verdict_simulation_test {
namespace {

using engine::measure_look_by_look;

/// Fixed by the standard, unlike the library's distributions.
struct Random {
  std::mt19937_64 bits;
  double uniform() { return std::ldexp(static_cast<double>(bits() >> 11), -53); }
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }
};

/// What one repetition gives.
struct Given {
  double rate = 1, seconds = 1;
  bool disturbed = false;
};
/// A system: each call is its next repetition; made anew for each trial and point.
using System = std::function<Given()>;
using Maker = std::function<System(Random&)>;

struct Counts {
  double pass = 0, fail = 0, correlated = 0, repetitions = 0;
  double pass_of_both = 0, fail_of_both = 0;  // of these, runs with values on both sides of the need by 5 %
  unsigned trials = 0;
};

struct Simulation {
  std::string metric = "read_bandwidth";
  bool at_least = true;
  unsigned points = 1, trials = 200;
  std::vector<unsigned> looks{5, 10, 15};

  /// Shares of `trials` runs of systems that `make` makes, of which `need` is asked.
  Counts operator()(double need, const Maker& make) const {
    testing::ScriptedPlan scripted;
    for (unsigned p = 0; p < points; ++p) scripted.add();
    scripted.need(metric, need, at_least);
    const std::vector<judging::Question> questions = engine::questions(scripted.plan, 1);
    Random random{std::mt19937_64(11)};
    Counts counts{.trials = trials};
    for (unsigned trial = 0; trial < trials; ++trial) {
      std::vector<PointResult> results;
      std::vector<System> systems;
      for (const Point& point : scripted.plan.points) {
        PointResult& result = results.emplace_back(engine::unmeasured(point));
        systems.push_back(make(random));
        result.looks = statistics::plan_looks(looks);
        const auto take = [&](unsigned n, unsigned look, unsigned) {
          for (; n > 0; --n) result.repetitions.push_back(repetition(systems.back()(), look));
        };
        measure_look_by_look(result, questions, 2,
                             {.take = take, .must_stop = [] { return false; }, .summarize = [] {}});
        result.status = PointStatus::ok;
        counts.repetitions += static_cast<double>(result.repetitions.size()) / trials;
      }
      Judgement j = judging::answer_all(questions, engine::recorded(results)).front();
      if (j.outcome == Outcome::fail) {  // what run_plan() does then
        for (std::size_t p = 0; p < results.size(); ++p) {
          if (results[p].point->id != j.point) continue;
          const auto look = static_cast<unsigned>(results[p].looks.looks.size());
          for (unsigned n = 0; n < looks.front(); ++n)
            results[p].repetitions.push_back(repetition(systems[p](), look, false));
          results[p].measured_again = true;
        }
        j = judging::answer_all(questions, engine::recorded(results)).front();
      }
      counts.pass += (j.outcome == Outcome::pass) / static_cast<double>(trials);
      counts.fail += (j.outcome == Outcome::fail) / static_cast<double>(trials);
      const bool both = sees_both(results.front(), need);
      counts.pass_of_both += (both && j.outcome == Outcome::pass) / static_cast<double>(trials);
      counts.fail_of_both += (both && j.outcome == Outcome::fail) / static_cast<double>(trials);
      counts.correlated += (j.reason == Reason::correlated) / static_cast<double>(trials);
    }
    return counts;
  }

 private:
  static bool sees_both(const PointResult& result, double need) {
    const auto any = [&](auto wanted) {
      return std::ranges::any_of(result.repetitions,
                                 [&](const Repetition& r) { return r.counted && wanted(r.metrics.front().value); });
    };
    return any([&](double v) { return v < 0.95 * need; }) && any([&](double v) { return v > 1.05 * need; });
  }

  Repetition repetition(const Given& given, unsigned look, bool counted = true) const {
    Repetition r;
    r.look = look;
    r.counted = counted;
    r.metrics = {{metric, given.rate, given.seconds}};
    r.disturbance.disturbed = given.disturbed;
    return r;
  }
};

/// Noise of `cv` around 1 in which each repetition follows the one before with `correlation`.
Maker noise(double cv, double correlation = 0) {
  return [=](Random& random) -> System {
    return [=, &random, now = random.normal()]() mutable {
      const double rate = 1 + cv * now;
      now = correlation * now + std::sqrt(1 - correlation * correlation) * random.normal();
      return Given{.rate = rate};
    };
  };
}

/// One repetition in ten is 30 % slower; `same_work`: and takes so much longer.
Maker stalls(double cv, bool same_work) {
  return [=](Random& random) -> System {
    return [=, &random] {
      const double rate = (1 + cv * random.normal()) * (random.uniform() < 0.1 ? 0.7 : 1);
      return Given{.rate = rate, .seconds = same_work ? 1 / rate : 1};
    };
  };
}

/// A neighbour slows one repetition in `one_in` by 30 %, and is seen.
Maker neighbour(double cv, double one_in) {
  return [=](Random& random) -> System {
    return [=, &random] {
      const bool hit = random.uniform() * one_in < 1;
      return Given{.rate = (1 + cv * random.normal()) * (hit ? 0.7 : 1), .disturbed = hit};
    };
  };
}

constexpr double kPromised = 0.05;
constexpr double kExcluded = 0.075;  // a true rate of so much would have shown more, with 95 % confidence

/// The largest true rate that gives `share` of `trials` or less with a chance of 5 % (Clopper and
/// Pearson).
double upper_limit(double share, unsigned trials) {
  const auto seen = static_cast<unsigned>(std::lround(share * trials));
  const auto chance = [&](double rate) {  // of `seen` or fewer
    double one = std::pow(1 - rate, trials), all = one;
    for (unsigned k = 1; k <= seen; ++k) all += one *= rate / (1 - rate) * (trials - k + 1) / k;
    return all;
  };
  double low = 0, high = 0.5;
  for (int i = 0; i < 50; ++i) (chance((low + high) / 2) > 0.05 ? low : high) = (low + high) / 2;
  return high;
}

void expect_no_more_wrong(const Counts& c, const std::string& what) {
  for (const double wrong : {c.pass, c.fail}) {
    EXPECT_LE(wrong, kPromised) << what;
    EXPECT_LE(upper_limit(wrong, c.trials), kExcluded) << what;
  }
  std::printf("%-44s PASS %4.1f %%  FAIL %4.1f %%  %.1f repetitions\n", what.c_str(), 100 * c.pass, 100 * c.fail,
              c.repetitions);
}

TEST(UpperLimit, AsTablesHaveIt) {
  EXPECT_NEAR(upper_limit(0, 60), 1 - std::pow(0.05, 1 / 60.0), 1e-9);
  EXPECT_NEAR(upper_limit(0.05, 200), 0.08334, 1e-5);  // 10 of 200
}

TEST(ErrorsAtTheNeed, IndependentNoise) {
  for (const double cv : {0.02, 0.05, 0.1})
    expect_no_more_wrong(Simulation{}(1, noise(cv)), "independent, CV " + std::to_string(cv));
}

TEST(ErrorsAtTheNeed, CorrelatedRepetitions) {
  const Simulation simulation{.trials = 400};
  for (const double cv : {0.02, 0.05, 0.1})
    expect_no_more_wrong(simulation(1, noise(cv, 0.7)), "AR(1) 0.7, CV " + std::to_string(cv));
}

TEST(ErrorsAtTheNeed, CorrelatedLatencies) {
  const Simulation simulation{.metric = "fixed", .at_least = false, .trials = 400};
  expect_no_more_wrong(simulation(1, noise(0.05, 0.7)), "a median, AR(1) 0.7, CV 0.05");
}

TEST(ErrorsAtTheNeed, RareStalls) {
  for (const double cv : {0.005, 0.02, 0.05}) {
    expect_no_more_wrong(Simulation{}(0.97, stalls(cv, false)), "stalls, CV " + std::to_string(cv));
    expect_no_more_wrong(Simulation{}(1 / (0.9 + 0.1 / 0.7), stalls(cv, true)),
                         "stalls, same work, CV " + std::to_string(cv));
  }
}

TEST(ErrorsAtTheNeed, TheBestOfTwelvePoints) {
  const Simulation simulation{.points = 12, .trials = 100};
  expect_no_more_wrong(simulation(1, noise(0.05)), "best of 12, CV 0.05");
  expect_no_more_wrong(simulation(1, noise(0.05, 0.7)), "best of 12, AR(1) 0.7, CV 0.05");
}

/// The true rate is that of the system with its neighbour.
TEST(ErrorsAtTheNeed, DisturbedRepetitionsAreRepeated) {
  for (const double one_in : {10.0, 5.0, 3.0})
    expect_no_more_wrong(Simulation{.trials = 400}(1 - 0.3 / one_in, neighbour(0.02, one_in)),
                         "disturbed, one in " + std::to_string(one_in));
}

/// Gives 1 or 0.8, and changes to the other after a repetition with this chance; their mean counts as 1.
Maker humps(double change, double cv) {
  return [=](Random& random) -> System {
    return [=, &random, high = random.uniform() < 0.5]() mutable {
      const double rate = (high ? 1 : 0.8) * (1 + cv * random.normal()) / 0.9;
      if (random.uniform() < change) high = !high;
      return Given{.rate = rate};
    };
  };
}

/// Whoever sees one hump alone cannot know of the other: docs/explanation/statistics.md promises nothing there.
TEST(ErrorsAtTheNeed, HumpsThatLastWhereBothAreSeen) {
  for (const double change : {0.5, 0.3, 0.15, 0.07})
    for (const double cv : {0.01, 0.03}) {
      const Counts c = Simulation{.trials = 400}(1, humps(change, cv));
      EXPECT_LE(c.pass_of_both, kPromised) << change << " " << cv;
      EXPECT_LE(c.fail_of_both, kPromised) << change << " " << cv;
      std::printf("humps, change %.2f, CV %.2f: PASS %4.1f %%  FAIL %4.1f %%, both seen %4.1f %%  %4.1f %%\n", change,
                  cv, 100 * c.pass, 100 * c.fail, 100 * c.pass_of_both, 100 * c.fail_of_both);
    }
}

/// Three repetitions in ten give nothing: a run that sees it does not pass.
TEST(ErrorsAtTheNeed, RepetitionsThatGiveNothing) {
  const Maker nothing = [](Random& random) -> System {
    return [&random] { return Given{.rate = random.uniform() < 0.3 ? 0 : 1 + 0.02 * random.normal()}; };
  };
  const Counts c = Simulation{.trials = 400}(0.7, nothing);
  EXPECT_LE(c.pass_of_both, kPromised);
  EXPECT_LE(c.fail, kPromised);
  std::printf("nothing in three of ten: PASS %4.1f %%  FAIL %4.1f %%, seen %4.1f %%\n", 100 * c.pass, 100 * c.fail,
              100 * c.pass_of_both);
  const Counts always =
      Simulation{.trials = 20}(0.7, [](Random&) -> System { return [] { return Given{.rate = 0}; }; });
  EXPECT_DOUBLE_EQ(always.fail, 1);
}

/// A repetition in which storage stands still for a twentieth of the time, in one stretch or three,
/// wherever that falls; its rate is what the cut leaves.
Maker standing_still(unsigned stretches) {
  return [=](Random& random) -> System {
    return [=, &random, starts = engine::Starts{}]() mutable {
      constexpr unsigned kIntervals = 60, kStill = 3, kPerInterval = 10;
      std::vector<bool> still(kIntervals);
      for (unsigned left = stretches; left > 0;) {  // apart, so that the share is always the same
        const unsigned length = kStill / stretches;
        const auto from = static_cast<unsigned>(random.uniform() * (kIntervals - length + 1));
        if (std::any_of(still.begin() + from, still.begin() + from + length, std::identity())) continue;
        std::fill_n(still.begin() + from, length, true);
        --left;
      }
      const double speed = 1 + 0.01 * random.normal();
      TimeSeries series;
      series.start(0);
      PhaseResult phase;
      for (std::uint64_t ms = 0; ms < kPerInterval * kIntervals; ++ms) {
        if (still[ms / kPerInterval]) continue;
        const auto bytes = static_cast<std::uint64_t>(1e6 * speed * (1 + 0.02 * (random.uniform() - 0.5)));
        series.add(ms * 1'000'000 + 999'999, 500'000, bytes);
        phase.bytes += bytes;
        ++phase.operations;
      }
      phase.elapsed_s = phase.first_finish_s = 1e-3 * kPerInterval * kIntervals;
      engine::store_series(series, engine::Window::settled, phase, starts);
      return Given{.rate = phase.bytes_per_s() / 1e9};
    };
  };
}

TEST(ErrorsAtTheNeed, AStallIsNoWarmUp) {
  const Simulation simulation{.trials = 60};
  for (const unsigned stretches : {1U, 3U})
    expect_no_more_wrong(simulation(0.95, standing_still(stretches)),
                         std::to_string(stretches) + " stalls within each repetition");
}

TEST(Power, FindsRealDifferences) {
  const Counts better = Simulation{.trials = 1500}(1 / 1.1, noise(0.05));  // close to what is promised
  const Counts worse = Simulation{.trials = 300}(1 / 0.9, noise(0.05));
  EXPECT_GE(better.pass, 0.9);
  EXPECT_EQ(better.fail, 0);
  EXPECT_GE(worse.fail, 0.9);
  EXPECT_EQ(worse.pass, 0);
  EXPECT_LE(better.repetitions, 15.5);
  std::printf("+10 %%: PASS %.1f %%; -10 %%: FAIL %.1f %%\n", 100 * better.pass, 100 * worse.fail);
}

TEST(Power, AClearCaseTakesFiveRepetitions) {
  const Counts clear = Simulation{}(0.5, noise(0.05));
  EXPECT_NEAR(clear.pass, 1, 1e-9);
  EXPECT_LE(clear.repetitions, 6.5);
}

TEST(Power, AutocorrelationTakesMore) {
  const Counts c = Simulation{}(1 / 1.04, noise(0.05, 0.7));
  EXPECT_GT(c.repetitions, 18);
  EXPECT_GT(c.correlated, 0.2);
}

}  // namespace
}  // namespace headrace::verdict_simulation_test
