// Parameters: what is declared is what may be written. Problems and their places: tests/cases/usage/configurations.yaml.
#include "harness/record/params.h"

#include <gtest/gtest.h>

namespace headrace::params_test {
namespace {

config::Value entry(const std::string& yaml) {
  Diagnostics problems;
  config::Value value = config::parse_yaml(yaml, "c.yaml", problems);
  EXPECT_TRUE(problems.empty());
  return value;
}

std::string all(const Diagnostics& problems) {
  std::string text;
  for (const Diagnostic& d : problems.errors()) text += to_string(d) + "\n";
  return text;
}

TEST(Params, ReadsGivenValuesAndDefaultsTheRest) {
  const config::Value value = entry("block_size: 128KiB\nduration: 200ms\nengine: io_uring\ndirect: true\n");
  Diagnostics problems;
  Params p("w", value, problems);
  EXPECT_EQ(p.bytes("block_size", 4_KiB, {.min = 512, .multiple_of = 512}, ""), 128_KiB);
  EXPECT_EQ(p.count("queue_depth", 32, {.min = 1, .max = 4096}, ""), 32u);
  EXPECT_DOUBLE_EQ(p.seconds("duration", 1, {}, ""), 0.2);
  EXPECT_EQ(p.choice("engine", "posix", {"posix", "io_uring"}, ""), "io_uring");
  EXPECT_TRUE(p.flag("direct", false, ""));
  p.finish();
  EXPECT_EQ(all(problems), "");
  EXPECT_EQ(std::get<std::uint64_t>(p.resolved().at("queue_depth")), 32u);
  EXPECT_EQ(p.written().at("block_size"), "128KiB");
}

TEST(Params, ARateMayBeTheJobsNeed) {
  constexpr PerOperation kNeed[] = {{"read_iops", 1}, {"read_bandwidth", 4096}};
  const std::map<std::string, double> needed{
      {"w.read_iops", 500}, {"w.read_bandwidth", 4'096'000}, {"other.read_iops", 1e9}};
  for (const auto& [written, rate] : {std::pair{"10240/s", 10'240.0}, {"need", 1000.0}}) {
    const config::Value value = entry(std::string("rate: ") + written + "\n");
    Diagnostics problems;
    Params p("w", value, problems, &needed);
    EXPECT_DOUBLE_EQ(p.rate("rate", 0, {.min = 0.1}, "", kNeed), rate);
    p.finish();
    EXPECT_EQ(all(problems), "");
    EXPECT_DOUBLE_EQ(std::get<double>(p.resolved().at("rate")), rate);
    EXPECT_EQ(p.written().at("rate"), rate == 1000 ? "1000/s" : "10240/s");
    EXPECT_EQ(p.declared().front().allowed, "0.1/s or more, or need");
  }
}

TEST(Params, ANumberThatIsNotGivenHasNoValue) {
  const config::Value value = entry("{}\n");
  Diagnostics problems;
  Params p("w", value, problems);
  EXPECT_EQ(p.rate("rate", 0, {.min = 0.1}, ""), 0);
  EXPECT_EQ(p.seconds("limit", 0, {.min = 1e-6}, ""), 0);
  EXPECT_TRUE(p.resolved().empty());
  EXPECT_TRUE(p.written().empty());
  EXPECT_EQ(p.declared().front().fallback, "");
}

TEST(Params, WrittenValuesReadTheSame) {
  const config::Value value = entry("size: 1234567KiB\ntime: 123.4567891ms\nrate: 1234567.5/s\n");
  Diagnostics problems;
  Params p("w", value, problems);
  EXPECT_EQ(p.bytes("size", 1, {}, ""), 1234567u * 1024u);
  const double time = p.seconds("time", 1, {}, ""), rate = p.rate("rate", 1, {}, "");
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(parse_quantity(p.written().at("size"), Dimension::bytes).value, 1234567.0 * 1024);
  EXPECT_EQ(parse_quantity(p.written().at("time"), Dimension::seconds).value, time);
  EXPECT_EQ(parse_quantity(p.written().at("rate"), Dimension::per_second).value, rate);
}

}  // namespace
}  // namespace headrace::params_test
