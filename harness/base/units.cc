// One table of units; parsing and formatting both read it.
#include "harness/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace headrace {
namespace {

struct Prefix {
  std::string_view text;
  double factor;
};
constexpr Prefix kDecimal[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}};
constexpr Prefix kBinary[] = {{"Ki", 1024.0},
                              {"Mi", 1024.0 * 1024},
                              {"Gi", 1024.0 * 1024 * 1024},
                              {"Ti", 1024.0 * 1024 * 1024 * 1024},
                              {"Pi", 1024.0 * 1024 * 1024 * 1024 * 1024}};

/// One way to write a unit, without its prefix. `factor` turns it into the base unit of its
/// dimension.
struct Unit {
  std::string_view text;
  double factor;
  bool decimal = false;  // takes k, M, G, T, P
  bool binary = false;   // takes Ki, Mi, Gi, Ti, Pi
};
constexpr Unit kBytes[] = {{"B", 1, true, true}};
constexpr Unit kSeconds[] = {{"s", 1},     {"ms", 1e-3}, {"us", 1e-6}, {"\u00b5s", 1e-6}, {"\u03bcs", 1e-6},
                             {"ns", 1e-9}, {"min", 60},  {"h", 3600},  {"d", 86400}};
constexpr Unit kByteRates[] = {{"B/s", 1, true, true}, {"bit/s", 0.125, true}};
constexpr Unit kBitRates[] = {{"bit/s", 1, true}, {"B/s", 8, true, true}};
constexpr Unit kRates[] = {{"/s", 1, true}};
constexpr Unit kFlops[] = {{"FLOP/s", 1, true}};
constexpr Unit kTransfers[] = {{"T/s", 1, true}};
constexpr Unit kHours[] = {{"h", 1}, {"d", 24}, {"min", 1.0 / 60}, {"s", 1.0 / 3600}};
constexpr Unit kGigabytes[] = {{"GB", 1},    {"TB", 1e3}, {"PB", 1e6},          {"MB", 1e-3},
                               {"kB", 1e-6}, {"B", 1e-9}, {"GiB", 1.073741824}, {"TiB", 1099.511627776}};
constexpr Unit kUsd[] = {{"", 1}, {"USD", 1}};
constexpr Unit kUsdPerHour[] = {{"", 1}, {"USD/h", 1}};
constexpr Unit kUsdPerMonth[] = {{"", 1}, {"USD/month", 1}};
constexpr Unit kBare[] = {{"", 1}};

/// The facts of a dimension: its base unit, its name in messages, and the allowed spellings.
struct Kind {
  Dimension dimension;
  std::string_view unit;    // as in the vectors
  std::string_view suffix;  // written after an exact number
  std::string_view noun;
  std::string_view examples;  // for messages
  std::span<const Unit> units;
};
constexpr std::string_view kSizes = "B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB";
constexpr Kind kKinds[] = {
    {Dimension::count, "count", "", "count", "", kBare},
    {Dimension::ratio, "ratio", "", "ratio", "", kBare},
    {Dimension::bytes, "B", "B", "size", kSizes, kBytes},
    {Dimension::seconds, "s", "s", "time", "ns, us, ms, s, min, h, d", kSeconds},
    {Dimension::bytes_per_second, "B/s", "B/s", "byte rate", "B/s, kB/s, MB/s, GB/s, TB/s, MiB/s, GiB/s, Gbit/s",
     kByteRates},
    {Dimension::per_second, "1/s", "/s", "rate", "/s, k/s, M/s, G/s", kRates},
    {Dimension::flop_per_second, "FLOP/s", "FLOP/s", "compute rate", "FLOP/s, GFLOP/s, TFLOP/s, PFLOP/s", kFlops},
    {Dimension::transfers_per_second, "T/s", "T/s", "transfer rate", "T/s, MT/s, GT/s", kTransfers},
    {Dimension::bits_per_second, "bit/s", "bit/s", "line rate", "bit/s, Mbit/s, Gbit/s, Tbit/s, GB/s", kBitRates},
    {Dimension::hours, "h", "h", "time", "s, min, h, d", kHours},
    {Dimension::usd, "USD", "", "price", "", kUsd},
    {Dimension::usd_per_hour, "USD/h", "", "price per hour", "", kUsdPerHour},
    {Dimension::usd_per_month, "USD/month", "", "price per month", "", kUsdPerMonth},
    {Dimension::gigabytes, "GB", "GB", "size", kSizes, kGigabytes},
    {Dimension::any, "number", "", "number", "", {}},
    {Dimension::boolean, "boolean", "", "yes or no", "", {}},
    {Dimension::text, "text", "", "text", "", {}},
};

const Kind& kind_of(Dimension dimension) {
  for (const Kind& kind : kKinds)
    if (kind.dimension == dimension) return kind;
  return kKinds[0];
}

/// The factor of a written unit, or 0 when it is none of `units`.
double factor_of(std::string_view written, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (!written.ends_with(unit.text)) continue;
    const std::string_view prefix = written.substr(0, written.size() - unit.text.size());
    if (prefix.empty()) return unit.factor;
    if (unit.decimal)
      for (const Prefix& p : kDecimal)
        if (p.text == prefix) return unit.factor * p.factor;
    if (unit.binary)
      for (const Prefix& p : kBinary)
        if (p.text == prefix) return unit.factor * p.factor;
  }
  return 0;
}

/// Divides instead of multiplying by an inexact reciprocal: 200 ms is exactly 0.2 s.
double scale(double number, double factor) {
  const double inverse = 1 / factor;
  return factor < 1 && std::abs(inverse - std::round(inverse)) < 1e-6 * inverse ? number / std::round(inverse)
                                                                                : number * factor;
}

/// "; did you mean kB?": the unit that differs in capitals alone ("KB", "gib", "MSEC" is none), or "".
std::string meant_unit(std::string_view written, const Kind& kind) {
  const auto same = [](std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
  };
  if (kind.unit == "B" && written.size() == 1 && std::string_view("kKmMgGtT").find(written) != written.npos)
    return fmt::format("; did you mean {}iB, as fio and dd have it?",
                       std::string(1, static_cast<char>(std::toupper(static_cast<unsigned char>(written[0])))));
  for (const Unit& unit : kind.units) {
    std::vector<std::string> ways{std::string(unit.text)};
    const auto add = [&](std::span<const Prefix> prefixes) {
      for (const Prefix& prefix : prefixes) ways.push_back(std::string(prefix.text) + std::string(unit.text));
    };
    if (unit.decimal) add(kDecimal);
    if (unit.binary) add(kBinary);
    for (const std::string& way : ways)
      if (same(written, way)) return fmt::format("; did you mean {}?", way);
  }
  return "";
}

std::string wrong_unit(std::string_view written, const Kind& kind) {
  constexpr std::string_view kShort = "kKMGTP";  // as fio writes them
  const std::size_t power = written.size() == 1 ? kShort.find(written) : kShort.npos;
  if (kind.examples.empty()) {
    if (power != kShort.npos)
      return fmt::format("is a number without a unit: write e{} for '{}'", 3 * std::max<std::size_t>(power, 1),
                         written);
    if (written.starts_with('-')) return "is no range: write 1..8, or 1..8*2 for 1, 2, 4, 8";
    return fmt::format("is a number without a unit: '{}' is not allowed", written);
  }
  if (kind.unit == "B" && power != kShort.npos)
    return fmt::format("unknown unit '{0}': write {1}iB (powers of 1024) or {2}B (powers of 1000)", written,
                       power < 2 ? 'K' : written.front(), power < 2 ? 'k' : written.front());
  if (written.ends_with("b/s") || written.ends_with("bps") || written == "b" || written.ends_with("bit"))
    return fmt::format("'{}' is not clear: write Gbit/s for bits or {} for bytes ({})", written,
                       kind.unit == "B" ? "GB" : "GB/s", kind.examples);
  for (const Kind& other : kKinds)
    if (!other.examples.empty() && other.noun != kind.noun && factor_of(written, other.units) != 0)
      return fmt::format("'{}' is a unit of {}, a {} is needed: {}", written, other.noun, kind.noun, kind.examples);
  return fmt::format("unknown unit '{}'{}: {}", written, meant_unit(written, kind), kind.examples);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Parsed parse_boolean(std::string_view text) {
  for (const std::string_view word : {"true", "True", "yes", "on", "1"})
    if (text == word) return {1, ""};
  for (const std::string_view word : {"false", "False", "no", "off", "0"})
    if (text == word) return {0, ""};
  return {0, fmt::format("'{}' is neither true nor false", text)};
}

struct Scaled {
  double value;
  std::string unit;
};

/// Chooses the prefix or time unit in which `value` has one to three digits before the point once
/// rounded.
Scaled scaled(double value, const Kind& kind, bool binary, int digits) {
  const double size = std::abs(value);
  const double rounding = 1 - 0.5 * std::pow(10.0, -digits);  // 999.96 at 4 digits is 1000
  const auto reaches = [&](double factor) { return size >= factor * rounding; };
  if (kind.dimension == Dimension::seconds) {
    if (reaches(2 * 86400)) return {value / 86400, "d"};
    if (reaches(2 * 3600)) return {value / 3600, "h"};
    if (reaches(2 * 60)) return {value / 60, "min"};
    if (reaches(1) || size == 0) return {value, "s"};
    if (reaches(1e-3)) return {value * 1e3, "ms"};
    if (reaches(1e-6)) return {value * 1e6, "\u00b5s"};
    return {value * 1e9, "ns"};
  }
  const bool prefixed = !kind.units.empty() && kind.units[0].decimal;
  const bool big_count = kind.dimension == Dimension::count && reaches(1e6);
  Prefix best{"", 1};
  if (binary && prefixed && kind.units[0].binary) {
    for (const Prefix& p : kBinary)
      if (reaches(p.factor)) best = p;
  } else if (prefixed || big_count) {
    for (const Prefix& p : kDecimal)
      if (reaches(p.factor)) best = p;
  }
  const std::string_view unit = kind.suffix.empty() && kind.unit.starts_with("USD") ? kind.unit : kind.suffix;
  return {value / best.factor, std::string(best.text) + std::string(unit)};
}

/// Is a size a power of two, or exact with a binary prefix and not with a decimal one?
bool prefers_binary(double value, Dimension dimension, int digits) {
  if (dimension != Dimension::bytes || value < 1024) return false;
  int exponent = 0;
  if (std::frexp(value, &exponent) == 0.5) return true;
  const auto exact = [&](double base) {
    const double shown = value / std::pow(base, std::floor(std::log(value) / std::log(base)));
    return std::stod(fmt::format("{:.{}g}", shown, digits)) == shown;
  };
  return exact(1024) && !exact(1000);
}

std::string with_unit(std::string number, const std::string& unit) {
  if (unit.empty()) return number;
  return unit == "/s" ? number + unit : number + ' ' + unit;
}

}  // namespace

std::string_view unit_name(Dimension dimension) { return kind_of(dimension).unit; }

Parsed parse_quantity(std::string_view text, Dimension dimension) {
  const Kind& kind = kind_of(dimension);
  text = trim(text);
  if (dimension == Dimension::boolean) return parse_boolean(text);
  if (dimension == Dimension::text) return {0, "is text, not a number"};

  std::string_view rest = text;
  const bool plus = rest.starts_with('+');
  if (plus) rest.remove_prefix(1);
  double number = 0;
  const bool starts = !rest.empty() && (rest.front() == '.' || (rest.front() == '-' && !plus) ||
                                        (rest.front() >= '0' && rest.front() <= '9'));  // no "inf", no "+-"
  const auto [end, error] = starts ? std::from_chars(rest.data(), rest.data() + rest.size(), number)
                                   : std::from_chars_result{rest.data(), std::errc::invalid_argument};
  if (error == std::errc::result_out_of_range || (error == std::errc{} && !std::isfinite(number)))
    return {0, fmt::format("'{}' is not a number that can be held", text)};
  if (error != std::errc{}) return {0, "is not a number"};
  const std::string_view unit = trim(rest.substr(static_cast<std::size_t>(end - rest.data())));

  double factor = 0;
  if (dimension == Dimension::any) {
    factor = unit.empty() ? 1 : 0;
    for (const Kind& known : kKinds)
      if (factor == 0 && &known != &kind && known.dimension != Dimension::gigabytes)
        factor = factor_of(unit, known.units);
  } else {
    factor = factor_of(unit, kind.units);
  }
  if (factor == 0) {
    if (unit.empty()) return {0, fmt::format("needs a unit: {}", kind.examples)};
    return {0, wrong_unit(unit, kind)};
  }
  const double value = scale(number, factor);
  if (!std::isfinite(value)) return {0, fmt::format("'{}' is not a number that can be held", text)};
  return {value, ""};
}

std::string exact_quantity(double value, Dimension dimension) {
  if (dimension == Dimension::boolean) return value != 0 ? "true" : "false";
  return fmt::format("{}{}", value, kind_of(dimension).suffix);
}

std::string format_percent(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

std::string format_quantity(double value, Dimension dimension, bool binary, int digits) {
  if (!std::isfinite(value)) return "not a number";
  if (dimension == Dimension::boolean) return value != 0 ? "yes" : "no";
  const Kind& kind = kind_of(dimension);
  if (dimension == Dimension::count && value == std::round(value) && std::abs(value) < 1e6)
    return fmt::format("{:.0f}", value);
  const Scaled shown = scaled(value, kind, binary, digits);
  if (shown.value == 0) return with_unit("0", shown.unit);
  // Digits before the point are never dropped (1023 KiB); those behind it fill up to `digits`.
  const double magnitude = std::floor(std::log10(std::abs(shown.value) * (1 + 0.5 * std::pow(10.0, -digits))));
  const int decimals = std::max(0, digits - 1 - static_cast<int>(magnitude));
  return with_unit(
      decimals > 9 ? fmt::format("{:.{}g}", shown.value, digits) : fmt::format("{:.{}f}", shown.value, decimals),
      shown.unit);
}

std::string compact_quantity(double value, Dimension dimension, int digits) {
  if (!std::isfinite(value)) return "not a number";
  if (dimension == Dimension::boolean) return value != 0 ? "yes" : "no";
  const Kind& kind = kind_of(dimension);
  const double whole = std::abs(value);
  // Rates and counts that people count in stay whole: 10240/s, not 10.24 k/s.
  if ((dimension == Dimension::per_second || dimension == Dimension::count) && whole < 1e6 && whole >= 1)
    return with_unit(fmt::format("{:.{}g}", value, std::max(digits, 6)), std::string(kind.suffix));
  const Scaled shown = scaled(value, kind, prefers_binary(value, dimension, digits), digits);
  return with_unit(fmt::format("{:.{}g}", shown.value, digits), shown.unit);
}

std::string format_in_unit(double value, std::string_view unit) {
  if (unit == "ns") return format_quantity(value * 1e-9, Dimension::seconds);
  for (const Dimension d : {Dimension::count, Dimension::bytes, Dimension::seconds, Dimension::bytes_per_second,
                            Dimension::per_second, Dimension::flop_per_second, Dimension::ratio}) {
    if (unit == unit_name(d)) return format_quantity(value, d);
  }
  return fmt::format("{:.4g} {}", value, unit);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  if (whole < 100 * 3600) return fmt::format("{}h {:02}m", whole / 3600, whole % 3600 / 60);
  return fmt::format("{}d {:02}h", whole / 86400, whole % 86400 / 3600);
}

}  // namespace headrace
