// Quantities: what is read, what is refused, and that what is written is read back.
#include "harness/base/units.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headrace::units_test {
namespace {

double read(std::string_view text, Dimension dimension) {
  const Parsed parsed = parse_quantity(text, dimension);
  EXPECT_TRUE(parsed) << text << ": " << parsed.error;
  return parsed.value;
}

std::string refusal(std::string_view text, Dimension dimension) {
  const Parsed parsed = parse_quantity(text, dimension);
  EXPECT_FALSE(parsed) << text << " was read as " << parsed.value;
  return parsed.error;
}

TEST(ParseQuantity, ReadsSizes) {
  EXPECT_EQ(read("65536B", Dimension::bytes), 65536);
  EXPECT_EQ(read("4kB", Dimension::bytes), 4000);
  EXPECT_EQ(read("4KiB", Dimension::bytes), 4096);
  EXPECT_EQ(read("130 kB", Dimension::bytes), 130000);
  EXPECT_EQ(read("1.5TB", Dimension::bytes), 1.5e12);
  EXPECT_EQ(read("1MiB", Dimension::bytes), 1048576);
  EXPECT_EQ(read("2GiB", Dimension::bytes), 2147483648.0);
  EXPECT_EQ(read("3TiB", Dimension::bytes), 3 * std::exp2(40));
  EXPECT_EQ(read("1PB", Dimension::bytes), 1e15);
  EXPECT_EQ(read("1PiB", Dimension::bytes), std::exp2(50));
  EXPECT_EQ(read("2e3B", Dimension::bytes), 2000);
  EXPECT_EQ(read("0B", Dimension::bytes), 0);
}

TEST(ParseQuantity, ReadsTimes) {
  EXPECT_EQ(read("200ms", Dimension::seconds), 0.2);
  EXPECT_EQ(read("3us", Dimension::seconds), 3e-6);
  EXPECT_EQ(read("3\u00b5s", Dimension::seconds), 3e-6);
  EXPECT_EQ(read("3\u03bcs", Dimension::seconds), 3e-6);
  EXPECT_EQ(read("30min", Dimension::seconds), 1800);
  EXPECT_EQ(read("50h", Dimension::seconds), 180000);
  EXPECT_EQ(read("2d", Dimension::seconds), 172800);
  EXPECT_EQ(read("90min", Dimension::hours), 1.5);
}

TEST(ParseQuantity, ReadsRates) {
  EXPECT_EQ(read("400Gbit/s", Dimension::bytes_per_second), 5e10);
  EXPECT_EQ(read("400Gbit/s", Dimension::bits_per_second), 4e11);
  EXPECT_EQ(read("50GB/s", Dimension::bits_per_second), 4e11);
  EXPECT_EQ(read("2GiB/s", Dimension::bytes_per_second), 2147483648.0);
  EXPECT_EQ(read("10240/s", Dimension::per_second), 10240);
  EXPECT_EQ(read("10 k/s", Dimension::per_second), 10000);
  EXPECT_EQ(read("312TFLOP/s", Dimension::flop_per_second), 312e12);
  EXPECT_EQ(read("16GT/s", Dimension::transfers_per_second), 16e9);
}

TEST(ParseQuantity, ReadsBareNumbers) {
  EXPECT_EQ(read("25.6e6", Dimension::count), 25.6e6);
  EXPECT_EQ(read(".5", Dimension::ratio), 0.5);
  EXPECT_EQ(read("+3", Dimension::ratio), 3);
  EXPECT_EQ(read("-1", Dimension::ratio), -1);
  EXPECT_EQ(read("3", Dimension::usd_per_hour), 3);
  EXPECT_EQ(read("3USD/h", Dimension::usd_per_hour), 3);
  EXPECT_EQ(read("yes", Dimension::boolean), 1);
  EXPECT_EQ(read("false", Dimension::boolean), 0);
  EXPECT_EQ(read("100TB", Dimension::gigabytes), 100000);
  EXPECT_EQ(read("2.4GB/s", Dimension::any), 2.4e9);
  EXPECT_EQ(read("7", Dimension::any), 7);
}

TEST(ParseQuantity, RefusesWithAReason) {
  EXPECT_EQ(refusal("130", Dimension::bytes), "needs a unit: B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB");
  EXPECT_EQ(refusal("130s", Dimension::bytes),
            "'s' is a unit of time, a size is needed: B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB");
  EXPECT_EQ(refusal("2kB", Dimension::seconds), "'kB' is a unit of size, a time is needed: ns, us, ms, s, min, h, d");
  EXPECT_EQ(refusal("4 parsecs", Dimension::seconds), "unknown unit 'parsecs': ns, us, ms, s, min, h, d");
  EXPECT_EQ(refusal("130KB", Dimension::bytes).substr(0, 36), "unknown unit 'KB'; did you mean kB?:");
  EXPECT_NE(refusal("4gib", Dimension::bytes).find("did you mean GiB?"), std::string::npos);
  EXPECT_EQ(refusal("4XB", Dimension::bytes).find("did you mean"), std::string::npos);
  EXPECT_EQ(refusal("8kB", Dimension::count), "is a number without a unit: 'kB' is not allowed");
  EXPECT_EQ(refusal("400M", Dimension::count), "is a number without a unit: write e6 for 'M'");
  EXPECT_EQ(refusal("1-8", Dimension::count), "is no range: write 1..8, or 1..8*2 for 1, 2, 4, 8");
  EXPECT_EQ(refusal("4k", Dimension::bytes), "unknown unit 'k': write KiB (powers of 1024) or kB (powers of 1000)");
  EXPECT_EQ(refusal("eight", Dimension::count), "is not a number");
  EXPECT_NE(refusal("100Gb/s", Dimension::bytes_per_second).find("Gbit/s for bits"), std::string::npos);
}

TEST(ParseQuantity, RefusesNearMisses) {
  for (const char* text :
       {"",     " ",      "B",    "4KB",  "4K",   "65536BB", "65536B x", "1..2kB", "1,5kB", "1_000B", "0x10B", "infB",
        "nanB", "1e999B", "- 1B", "+-1B", "++1B", "4kiB",    "4 k B",    "4mB",    "4MB/s", "\t4B",   "4B\n"})
    EXPECT_FALSE(parse_quantity(text, Dimension::bytes)) << text;
  for (const char* text : {"4Kibit/s", "4GB", "4Gbit", "4Gbps", "4GB/ s"})
    EXPECT_FALSE(parse_quantity(text, Dimension::bytes_per_second)) << text;
  for (const char* text : {"inf", "nan", "1e400", "80%", "1 2"})
    EXPECT_FALSE(parse_quantity(text, Dimension::ratio)) << text;
  for (const char* text : {"5sec", "5m", "5ks", "5hours"})
    EXPECT_FALSE(parse_quantity(text, Dimension::seconds)) << text;
}

TEST(ExactQuantity, IsReadBack) {
  for (const double value : {0.0, 0.1, 130000.0, 1.0 / 3, 602112.0, 25.6e6, 1e-9, 5e10})
    for (const Dimension dimension : {Dimension::count, Dimension::ratio, Dimension::bytes, Dimension::seconds,
                                      Dimension::bytes_per_second, Dimension::per_second, Dimension::usd_per_hour})
      EXPECT_EQ(read(exact_quantity(value, dimension), dimension), value) << exact_quantity(value, dimension);
  EXPECT_EQ(exact_quantity(130000, Dimension::bytes), "130000B");
  EXPECT_EQ(exact_quantity(0.2, Dimension::seconds), "0.2s");
}

TEST(FormatQuantity, KeepsThreeDigits) {
  EXPECT_EQ(format_quantity(1331200000, Dimension::bytes_per_second), "1.33 GB/s");
  EXPECT_EQ(format_quantity(0.2, Dimension::seconds), "200 ms");
  EXPECT_EQ(format_quantity(1.5 * 1073741824, Dimension::bytes, true), "1.50 GiB");
  EXPECT_EQ(format_quantity(10240, Dimension::per_second), "10.2 k/s");
  EXPECT_EQ(format_quantity(128, Dimension::count), "128");
  EXPECT_EQ(format_quantity(1281167, Dimension::count), "1.28 M");
  EXPECT_EQ(format_quantity(999.7e6, Dimension::bytes), "1.00 GB");
  EXPECT_EQ(format_quantity(999.4e6, Dimension::bytes), "999 MB");
  EXPECT_EQ(format_quantity(0, Dimension::bytes), "0 B");
  EXPECT_EQ(format_quantity(NAN, Dimension::bytes), "not a number");
  EXPECT_EQ(format_quantity(1800, Dimension::seconds), "30.0 min");
}

TEST(CompactQuantity, DropsZeros) {
  EXPECT_EQ(compact_quantity(130000, Dimension::bytes), "130 kB");
  EXPECT_EQ(compact_quantity(10240, Dimension::per_second), "10240/s");
  EXPECT_EQ(compact_quantity(1331200000, Dimension::bytes_per_second), "1.3312 GB/s");
  EXPECT_EQ(compact_quantity(1048576, Dimension::bytes), "1 MiB");
  EXPECT_EQ(compact_quantity(131072, Dimension::bytes), "128 KiB");
  EXPECT_EQ(compact_quantity(602112, Dimension::bytes), "602.112 kB");
  EXPECT_EQ(compact_quantity(1073741824.0 * 75, Dimension::bytes), "75 GiB");
  EXPECT_EQ(compact_quantity(0.8, Dimension::ratio), "0.8");
  EXPECT_EQ(compact_quantity(2048, Dimension::count), "2048");
}

TEST(FormatDuration, ReadsLikeAClock) {
  EXPECT_EQ(format_duration(4.23), "4.2 s");
  EXPECT_EQ(format_duration(42), "42 s");
  EXPECT_EQ(format_duration(65), "1m 05s");
  EXPECT_EQ(format_duration(7380), "2h 03m");
  EXPECT_EQ(format_duration(59.7), "1m 00s");
}

}  // namespace
}  // namespace headrace::units_test
