// Parameters: what is declared is what may be written; every problem is told with its place.
#include "harness/params.h"

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

TEST(Params, ReadsWhatIsWrittenAndDefaultsTheRest) {
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

TEST(Params, UnknownKeyNamesTheNearestAndAllKeys) {
  const config::Value value = entry("blocksize: 4KiB\n");
  Diagnostics problems;
  Params p("read_random", value, problems);
  p.bytes("block_size", 4_KiB, {}, "");
  p.count("queue_depth", 1, {}, "");
  p.finish();
  EXPECT_EQ(all(problems),
            "c.yaml:1:1: read_random: unknown key 'blocksize'; did you mean 'block_size'? (keys: "
            "block_size, queue_depth)\n");
}

TEST(Params, RangeUnitMultipleAndChoiceAreToldWithWhatIsAllowed) {
  const config::Value value = entry("queue_depth: 0\nblock_size: 1000B\ntime: 5\nengine: uring\nhalf: 1.5\n");
  Diagnostics problems;
  Params p("w", value, problems);
  EXPECT_EQ(p.count("queue_depth", 32, {.min = 1, .max = 4096}, ""), 32u);
  p.bytes("block_size", 4_KiB, {.min = 512, .max = 1073741824, .multiple_of = 512}, "");
  p.seconds("time", 1, {}, "");
  p.choice("engine", "posix", {"posix", "io_uring"}, "");
  p.count("half", 1, {}, "");
  p.finish();
  const std::string text = all(problems);
  EXPECT_NE(text.find("c.yaml:1:14: w: queue_depth: 0 is out of range: must be 1..4096"), text.npos) << text;
  EXPECT_NE(text.find("c.yaml:2:13: w: block_size: 1000B must be 512B..1GiB, a multiple of 512B"), text.npos) << text;
  EXPECT_NE(text.find("c.yaml:3:7: w: time: '5'"), text.npos) << text;
  EXPECT_NE(text.find("'uring' is not one of: posix, io_uring; did you mean 'io_uring'?"), text.npos) << text;
  EXPECT_NE(text.find("c.yaml:5:7: w: half: 1.5 is not a whole number"), text.npos) << text;
}

TEST(Params, ARateMayBeWhatTheJobNeeds) {
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

TEST(Params, ANeedThatIsNotThereIsToldWithItsPlace) {
  constexpr PerOperation kNeed[] = {{"read_iops", 1}};
  const std::map<std::string, double> needed{{"other.read_iops", 1e9}};
  const config::Value value = entry("rate: need\n");
  Diagnostics problems;
  Params without("w", value, problems), with("w", value, problems, &needed);
  without.rate("rate", 0, {.min = 0.1}, "", kNeed);
  with.rate("rate", 0, {.min = 0.1}, "", kNeed);
  EXPECT_EQ(all(problems),
            "c.yaml:1:7: w: rate: need: there is no job; give one with --job FILE, or a rate such "
            "as 500/s\n"
            "c.yaml:1:7: w: rate: need: this job has none that is measured by w.read_iops; give a "
            "rate such as 500/s\n");
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

TEST(Params, WhatIsWrittenReadsTheSame) {
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

TEST(Params, MoreThanCanBeCountedIsRefused) {
  const config::Value value = entry("size: 1e300B\nreads: 1e17\n");
  Diagnostics problems;
  Params p("w", value, problems);
  EXPECT_EQ(p.bytes("size", 512, {}, ""), 512u);
  EXPECT_EQ(p.count("reads", 7, {}, ""), 7u);
  EXPECT_NE(all(problems).find("c.yaml:1:7: w: size: 1e300B is more than can be counted"), std::string::npos)
      << all(problems);
}

}  // namespace
}  // namespace headrace::params_test
