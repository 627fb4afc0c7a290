// Properties that every formula must have, limits, and combinations outside the domain.
#include "harness/job/formula.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "harness/job/formula_output.h"
#include "tests/unit/source_dir.h"

namespace headrace::job::formula_test {
namespace {

double value(std::string_view name, std::initializer_list<NamedValue> values) { return apply(name, values).value(); }

TEST(Formula, IsDescribedCompletely) {
  std::set<std::string_view> ids;
  for (const Formula& f : all_formulas()) {
    SCOPED_TRACE(f.id);
    EXPECT_TRUE(ids.insert(f.id).second && ids.insert(f.name).second);
    EXPECT_FALSE(f.title.empty() || f.equation.empty() || f.unit.empty() || f.validity.empty() || f.source.empty());
    std::set<std::string> names;
    for (const Input& input : f.inputs) {
      EXPECT_TRUE(names.insert(plain_name(input)).second) << "two inputs are called " << plain_name(input);
      EXPECT_TRUE(!input.fallback || input.range.allows(*input.fallback)) << input.name;
      const std::string numbers = substituted({.equation = input.symbol, .inputs = {input}}, std::vector<Argument>(1));
      EXPECT_NE(numbers, input.symbol) << "the symbol is not one word";
    }
    EXPECT_NO_THROW(evaluate(f, example_arguments(f)));
  }
  EXPECT_EQ(find_formula("A3"), find_formula("read_bandwidth_required"));
  EXPECT_EQ(find_formula("Z1"), nullptr);
  EXPECT_EQ(named(*find_formula("A3")), "sample rate * sample bytes * read amplification * (1 - cache hit)");
  EXPECT_EQ(named(*find_formula("G8")), "floor(lower bound bytes/s / (safety margin * demand per gpu bytes/s))");
}

TEST(Formula, NeverSaysInfinityOrNaN) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  int values = 0;
  for (const Formula& f : all_formulas()) {
    for (int i = 0; i < 500; ++i) {
      std::vector<Argument> arguments;
      for (const Input& input : f.inputs) {
        const auto draw = [&] {
          if (i % 4 == 0 && unit(random) < 0.3) return unit(random) < 0.5 ? input.range.min : input.range.max;
          if (input.range.max <= 1) return input.range.min + unit(random) * (input.range.max - input.range.min);
          const double x = input.range.min + std::pow(10, unit(random) * 30 - 12);
          return input.range.integer ? std::floor(std::min(x, std::min(1e6, input.range.max))) : x;
        };
        Argument argument{draw(), {}};
        if (input.list) argument.list = {1, draw(), 1e9};
        arguments.push_back(argument);
      }
      try {
        EXPECT_TRUE(std::isfinite(evaluate(f, arguments).number)) << f.id;
        ++values;
      } catch (const DomainError&) {
      }
    }
  }
  EXPECT_GT(values, 10000);
}

/// Powers of bytes and seconds in a unit; money, counts and FLOPs have none.
std::pair<int, int> powers(std::string_view name, Dimension dimension) {
  if (name.ends_with("bytes_per_param")) return {1, 0};
  switch (dimension) {
    case Dimension::bytes:
      return {1, 0};
    case Dimension::seconds:
    case Dimension::hours:
      return {0, 1};
    case Dimension::bytes_per_second:
    case Dimension::bits_per_second:
      return {1, -1};
    case Dimension::per_second:
    case Dimension::flop_per_second:
    case Dimension::transfers_per_second:
    case Dimension::usd_per_hour:
      return {0, -1};
    default:
      return {0, 0};
  }
}

TEST(Formula, UnitsAreConsistent) {
  // Sizes held in units 4 times smaller and times in units 8 times smaller: the result changes as
  // its unit says.
  const std::set<std::string_view> with_constants{"A12", "B6",  "D12", "F25",
                                                  "F26", "F27", "F28"};  // what comes from no input
  for (const Formula& f : all_formulas()) {
    if (with_constants.count(f.id) || f.unit == "verdict") continue;
    std::vector<Argument> arguments = example_arguments(f);
    const double before = evaluate(f, arguments).number;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto [bytes, seconds] = powers(f.inputs[i].name, f.inputs[i].dimension);
      arguments[i].number *= std::pow(4, bytes) * std::pow(8, seconds);
    }
    const auto [bytes, seconds] = powers("", dimension_of_unit(f.unit));
    const bool as_input = f.id == "G2";
    const double expected = as_input ? before : before * std::pow(4, bytes) * std::pow(8, seconds);
    EXPECT_NEAR(evaluate(f, arguments).number, expected, 1e-12 * std::abs(expected)) << f.id;
  }
}

TEST(Formula, RefusesValuesOutsideItsDomain) {
  const auto refused = [](std::string_view name, std::initializer_list<NamedValue> values) -> std::string {
    try {
      const double result = apply(name, values).value();
      ADD_FAILURE() << name << " said " << result;
    } catch (const DomainError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refused("A1", {{"global_batch_samples_count", 1}, {"step_time_s", 0}}),
            "sample_rate_required: step_time_s = 0 s: must be above 0 s");
  EXPECT_EQ(refused("A3", {{"sample_rate_per_s", 1}, {"sample_bytes", 1}, {"cache_hit_ratio", 1.1}}),
            "read_bandwidth_required: cache_hit_ratio = 1.1: must be 0..1");
  refused("A3", {{"sample_rate_per_s", NAN}, {"sample_bytes", 1}});
  EXPECT_EQ(refused("A3", {{"sample_rate_per_s", 1e300}, {"sample_bytes", 1e300}}),
            "read_bandwidth_required: the result is too large to be held");
  refused("A2", {{"gpus_count", 10}, {"tensor_parallel_count", 4}, {"micro_batch_samples_count", 1}});
  refused("A12", {{"vocabulary_count", 0x1p33}});
  refused("B2", {{"node_sample_rate_per_s", 1}, {"cpu_time_per_sample_s", 1}, {"target_utilization_ratio", 0}});
  refused("C2", {{"cache_ratio", 0.5}, {"nodes_count", 0}});
  refused("C2", {{"cache_ratio", 0.5}, {"nodes_count", 1.5}});
  refused("E5", {{"checkpoint_bytes", 1}, {"stall_budget_s", 5}, {"fixed_overhead_s", 5}});
  refused("E7", {{"checkpoint_bytes", 1}, {"interval_s", 5}, {"stage_time_s", 5}});
  refused("E9", {{"checkpoint_bytes", 1}, {"weight_bytes", 1}, {"restore_budget_s", 1}, {"fixed_overhead_s", 2}});
  refused("E19", {{"checkpoint_bytes", 1}, {"mtbf_s", 100}, {"restart_s", 10}, {"waste_ratio", 0.1}});
  refused("F18", {{"wire_bytes", 1}, {"overlap_window_s", 1}, {"overlap_ratio", 0}});
  refused("F24", {{"endpoints_count", 8}, {"switch_ports_count", 2}, {"oversubscription_ratio", 0.1}});
  refused("G2", {{"mean", 1}, {"standard_deviation", 1}, {"samples_count", 1}});
  refused("G5", {{"lower_bound", 2}, {"upper_bound", 1}, {"required", 1}});
  refused("G10", {{"sample_bytes_rel_ratio", 0},
                  {"step_time_rel_ratio", 0},
                  {"hit_ratio_abs_ratio", 0.1},
                  {"cache_hit_ratio", 1}});
}

TEST(HitRatio, MeetsItsLimits) {
  const auto c2 = [](double c, double n) { return value("C2", {{"cache_ratio", c}, {"nodes_count", n}}); };
  for (const double n : {1.0, 2.0, 8.0, 1000.0}) {
    EXPECT_EQ(c2(0, n), 0);
    EXPECT_EQ(c2(1, n), 1);
    double last = 0;
    for (double c = 0.001; c < 1; c += 0.001) {
      const double h = c2(c, n);
      EXPECT_GT(h, last) << c << ' ' << n;
      EXPECT_LE(h, c);  // never better than a cache that never evicts
      last = h;
    }
    EXPECT_NEAR(c2(1 / n, n), c2(std::min(1.0, 1 / n + 1e-12), n), 1e-9);  // the branches join
  }
  EXPECT_NEAR(c2(0.3, 1e9), 0.3, 1e-6);
  EXPECT_NEAR(c2(1e-6, 1) / (1e-12 / 2), 1, 1e-6);       // c^2 / 2, where the closed form would cancel
  EXPECT_NEAR(c2(0.05, 1), c2(0.05 + 1e-12, 1), 1e-13);  // the series meets the closed form
  for (const double c : {0.0, 0.2, 0.7, 1.0}) {
    const double linux_estimate = value("C7", {{"cache_ratio", c}});
    EXPECT_GE(linux_estimate, c2(c, 1));
    EXPECT_LE(linux_estimate, value("C5", {{"cache_ratio", c}}));
    EXPECT_EQ(value("C3", {{"cache_ratio", c}, {"nodes_count", 1}}), c2(c, 1));
  }
}

TEST(Collectives, MeetTheirLimits) {
  const auto f6 = [](double n) {
    return value("F6", {{"local_params_count", 1e9}, {"gradient_bytes", 2}, {"ranks_count", n}});
  };
  EXPECT_EQ(f6(1), 0);
  EXPECT_NEAR(f6(1e9), 4e9, 10);
  for (double n = 2; n < 100; ++n) EXPECT_GT(f6(n), f6(n - 1));
  const auto ring = [](double s) {
    return value("F3",
                 {{"message_bytes", s}, {"ranks_count", 64}, {"hop_latency_s", 5e-6}, {"link_bytes_per_s", 5e10}});
  };
  const auto tree = [](double s) {
    return value("F4",
                 {{"message_bytes", s}, {"ranks_count", 64}, {"hop_latency_s", 5e-6}, {"link_bytes_per_s", 5e10}});
  };
  const double crossover = value("F5", {{"ranks_count", 64}, {"hop_latency_s", 5e-6}, {"link_bytes_per_s", 5e10}});
  EXPECT_NEAR(ring(crossover), tree(crossover), 1e-12);
  EXPECT_LT(tree(crossover / 2), ring(crossover / 2));
  EXPECT_LT(ring(crossover * 2), tree(crossover * 2));
}

TEST(Intervals, DalyIsNearYoungForRareFailures) {
  const auto daly = [](double stall, double mtbf) { return value("E16", {{"stall_s", stall}, {"mtbf_s", mtbf}}); };
  const auto young = [](double stall, double mtbf) { return value("E15", {{"stall_s", stall}, {"mtbf_s", mtbf}}); };
  EXPECT_NEAR(daly(1, 1e8) / young(1, 1e8), 1, 1e-3);
  const auto goodput = [](double interval) {
    return value("E17", {{"interval_s", interval}, {"stall_s", 300}, {"restart_s", 600}, {"mtbf_s", 86400}});
  };
  const double best = daly(300, 86400);  // the interval that it is said to be best at
  EXPECT_GT(goodput(best), goodput(best * 0.8));
  EXPECT_GT(goodput(best), goodput(best * 1.25));
}

TEST(Rounding, IgnoresNoiseOnly) {
  EXPECT_EQ(
      value("B2",
            {{"node_sample_rate_per_s", 10240}, {"cpu_time_per_sample_s", 0.01}, {"target_utilization_ratio", 0.8}}),
      128);
  EXPECT_EQ(value("D6", {{"dataset_bytes", 1000.001}, {"shard_bytes", 10}}), 101);
  EXPECT_EQ(value("A22", {{"supply_bytes_per_s", 0.3}, {"demand_per_gpu_bytes_per_s", 0.1}, {"au_target_ratio", 1}}),
            3);
}

TEST(Bounds, AgreeWithTables) {
  const auto t = [](double p,
                    double n) {  // the t quantile, read off a mean of 0... with deviation sqrt(n)
    return 100 -
           value("G2",
                 {{"mean", 100}, {"standard_deviation", std::sqrt(n)}, {"samples_count", n}, {"confidence_ratio", p}});
  };
  EXPECT_NEAR(t(0.95, 2), 6.313751514675043, 1e-9);
  EXPECT_NEAR(t(0.975, 10), 2.2621571627409915, 1e-10);
  EXPECT_NEAR(t(0.99, 31), 2.4572615424005706, 1e-10);
  EXPECT_NEAR(t(0.95, 1001), 1.6463788172854639, 1e-10);
  EXPECT_NEAR(t(0.5, 5), 0, 1e-12);
  EXPECT_NEAR(t(0.05, 10), -1.8331129326536335, 1e-10);
  const auto rank = [](double n) { return value("G3", {{"samples_count", n}}); };
  for (const auto& [n, k] :
       {std::pair{4.0, 0.0}, {5.0, 1.0}, {8.0, 2.0}, {10.0, 2.0}, {20.0, 6.0}, {1000.0, 474.0}, {1e6, 499178.0}})
    EXPECT_NEAR(rank(n), k, n > 1e5 ? 2 : 0) << n;
}

/// The comment above each function reports the equation of its record: "/// A3: W = ... [B/s]".
TEST(Formula, CommentsReportTheRegisteredEquation) {
  std::string comments;
  for (const auto& file : std::filesystem::recursive_directory_iterator(source_dir() + "/harness/job/formulas")) {
    std::ifstream stream(file.path());
    for (std::string line; std::getline(stream, line);)
      if (line.starts_with("/// ")) comments += ' ' + line.substr(4);
  }
  for (const Formula& f : all_formulas()) {
    const std::size_t at = comments.find(' ' + std::string(f.id) + ": ");
    ASSERT_NE(at, std::string::npos) << f.id;
    EXPECT_LT(comments.find(f.equation, at) - at, 40u) << f.id << ": " << f.equation;
  }
}

}  // namespace
}  // namespace headrace::job::formula_test
