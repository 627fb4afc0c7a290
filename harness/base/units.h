// Quantities with units: parses input, formats output. Values are SI inside: B, s, B/s, 1/s.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

/// The dimension of a value. Everything is stored in the base unit named here.
enum class Dimension {
  count,                 // bare number
  ratio,                 // bare number
  bytes,                 // B
  seconds,               // s
  bytes_per_second,      // B/s; also written as Gbit/s
  per_second,            // 1/s, written 10240/s
  flop_per_second,       // FLOP/s
  transfers_per_second,  // T/s (PCIe lanes: 16GT/s)
  bits_per_second,       // bit/s, only for formulas that take a line rate
  hours,                 // h, only where a formula's unit is the hour (price, GPU-hours)
  usd,
  usd_per_hour,
  usd_per_month,
  gigabytes,  // GB, only where a formula's unit is the GB (price per GB and month)
  any,        // a number with any unit or none: statistics do not care
  boolean,
  text,
};

/// "B", "s", "B/s", "1/s", "FLOP/s", "count", "ratio"... as in the golden vectors.
std::string_view unit_name(Dimension dimension);

/// The result of parsing: a value, or the reason why there is none.
struct Parsed {
  double value = 0;
  std::string error;  // "" when the value is good; else a phrase such as "needs a unit: B, kB, KiB, MB, ..."
  explicit operator bool() const { return error.empty(); }
};

/// Parses "130kB", "1MiB", "200ms", "400Gbit/s", "1.5TB", "10240/s", "30min". Prefixes k, M, G, T, P are powers of 1000
/// and Ki, Mi, Gi, Ti, Pi of 1024. A missing unit, a unit of another dimension, a non-finite number or trailing text is
/// an error. Counts, ratios and prices are bare numbers. No fraction of a byte is refused (a mean may have one). Rates
/// take a size followed by /s, or bit/s with a decimal prefix. Signs are kept: ranges are the caller's.
Parsed parse_quantity(std::string_view text, Dimension dimension);

/// The value in its base unit with as many digits as parse_quantity needs to read the same double: "130000B".
std::string exact_quantity(double value, Dimension dimension);

/// Three significant digits with the prefix people use: "1.33 GB/s", "10.2 k/s", "200 ms". bytes are decimal
/// unless `binary` ("1.50 GiB"). Non-finite values print as "not a number": they never reach a file.
std::string format_quantity(double value, Dimension dimension, bool binary = false, int digits = 3);
/// "97.3 %".
std::string format_percent(double ratio);

/// At most `digits` significant digits, zeros dropped: "130 kB", "0.8", "1.3312 GB/s". For numbers in an equation.
std::string compact_quantity(double value, Dimension dimension, int digits = 6);

/// The same for a value whose unit is a word of unit_name() or "ns": "13.6 us", "10.2 k/s", "128". An unknown unit is
/// written as it is.
std::string format_in_unit(double value, std::string_view unit);

/// "1m 05s", "42 s", "2h 03m": for elapsed time and ETA.
std::string format_duration(double seconds);

constexpr std::uint64_t operator""_KiB(unsigned long long n) { return n << 10; }
constexpr std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
constexpr std::uint64_t operator""_GiB(unsigned long long n) { return n << 30; }
constexpr std::uint64_t operator""_kB(unsigned long long n) { return n * 1000; }
constexpr std::uint64_t operator""_MB(unsigned long long n) { return n * 1000 * 1000; }
constexpr std::uint64_t operator""_GB(unsigned long long n) { return n * 1000 * 1000 * 1000; }

}  // namespace headrace
