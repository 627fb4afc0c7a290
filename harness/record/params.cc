// Reading and checking of workload parameters.
#include "harness/record/params.h"

#include "harness/base/data_path.h"
#include "harness/base/object_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "harness/base/config/value_reader.h"

namespace headrace {
namespace {

/// A value as the user would write it ("128KiB", "130kB", "200ms"), read again as the same.
std::string as_written(double value, Dimension dimension) {
  if (dimension == Dimension::bytes) {
    constexpr double kGiB = 1024.0 * 1024 * 1024;
    for (const auto& [size, name] : {std::pair{kGiB * 1024 * 1024, "PiB"},
                                     {kGiB * 1024, "TiB"},
                                     {kGiB, "GiB"},
                                     {1024.0 * 1024, "MiB"},
                                     {1024.0, "KiB"},
                                     {1e9, "GB"},
                                     {1e6, "MB"},
                                     {1e3, "kB"}}) {
      if (value >= size && std::fmod(value, size) == 0) return fmt::format("{:.0f}{}", value / size, name);
    }
    return fmt::format("{:.0f}B", value);
  }
  if (dimension == Dimension::seconds && value != 0 && value < 1) {
    std::string text = value < 1e-3 ? fmt::format("{:g}us", value * 1e6) : fmt::format("{:g}ms", value * 1e3);
    if (parse_quantity(text, dimension).value == value) return text;
  }
  return exact_quantity(value, dimension);
}

constexpr std::string_view kNeed = "need";

std::string range_text(const Limits& limits, Dimension dimension) {
  const bool open = limits.max >= 1e299;
  std::string text = open ? fmt::format("{} or more", as_written(limits.min, dimension))
                          : fmt::format("{}..{}", as_written(limits.min, dimension), as_written(limits.max, dimension));
  if (limits.multiple_of > 1) {
    text += fmt::format(", a multiple of {}", as_written(static_cast<double>(limits.multiple_of), dimension));
  }
  return text;
}

std::string_view type_name(Dimension dimension) {
  switch (dimension) {
    case Dimension::bytes:
      return "bytes";
    case Dimension::count:
      return "count";
    case Dimension::seconds:
      return "time";
    case Dimension::per_second:
      return "rate";
    case Dimension::bytes_per_second:
      return "bandwidth";
    default:
      return "ratio";
  }
}

}  // namespace

Params::Params(std::string owner, const config::Value& entry, Diagnostics& problems,
               const std::map<std::string, double>* needed, bool makes_objects)
    : owner_(std::move(owner)), entry_(entry), problems_(problems), needed_(needed), makes_objects_(makes_objects) {}

const config::Value* Params::find(std::string_view name) const { return entry_.find(name); }

bool Params::given(std::string_view name) const { return find(name) != nullptr; }

Location Params::place(std::string_view name) const {
  const config::Value* value = find(name);
  return value ? value->where : entry_.where;
}

void Params::problem(std::string_view name, const std::string& why) {
  problems_.error(place(name), fmt::format("{}: {}: {}", owner_, name, why));
}

double Params::number(std::string_view name, Dimension dimension, double fallback, const Limits& limits,
                      std::string_view help, bool whole, std::string_view also) {
  const std::string allowed = range_text(limits, dimension) + std::string(also);
  const bool none = fallback < limits.min;  // "not given" is no value that could be written
  declared_.push_back({std::string(name), std::string(type_name(dimension)),
                       none ? "" : as_written(fallback, dimension), allowed, std::string(help)});
  double result = fallback;
  if (const config::Value* value = find(name)) {
    if (!value->is_scalar()) {
      problem(name, fmt::format("must be one value ({})", allowed));
    } else if (const Parsed parsed = parse_quantity(value->text, dimension); !parsed) {
      problem(name, fmt::format("'{}' {} (allowed: {})", value->text, parsed.error, allowed));
    } else if (parsed.value < limits.min || parsed.value > limits.max) {
      problem(name, fmt::format("{} is out of range: must be {}", value->text, allowed));
    } else if (whole && parsed.value > config::kMostWhole) {
      problem(name, fmt::format("{} is more than can be counted (allowed: {})", value->text, allowed));
    } else if (whole && std::floor(parsed.value) != parsed.value) {
      problem(name, fmt::format("{} is not a whole number (allowed: {})", value->text, allowed));
    } else if (limits.multiple_of > 1 && std::fmod(parsed.value, static_cast<double>(limits.multiple_of)) != 0) {
      problem(name, fmt::format("{} must be {}", value->text, allowed));
    } else {
      result = parsed.value;
    }
  }
  if (none && result == fallback) return result;
  written_[std::string(name)] = as_written(result, dimension);
  if (whole) {
    resolved_[std::string(name)] = static_cast<std::uint64_t>(result);
  } else {
    resolved_[std::string(name)] = result;
  }
  return result;
}

std::uint64_t Params::bytes(std::string_view name, std::uint64_t fallback, Limits limits, std::string_view help) {
  return static_cast<std::uint64_t>(number(name, Dimension::bytes, static_cast<double>(fallback), limits, help, true));
}

std::uint64_t Params::count(std::string_view name, std::uint64_t fallback, Limits limits, std::string_view help) {
  return static_cast<std::uint64_t>(number(name, Dimension::count, static_cast<double>(fallback), limits, help, true));
}

double Params::seconds(std::string_view name, double fallback, Limits limits, std::string_view help) {
  return number(name, Dimension::seconds, fallback, limits, help, false);
}

double Params::ratio(std::string_view name, double fallback, Limits limits, std::string_view help) {
  return number(name, Dimension::ratio, fallback, limits, help, false);
}

double Params::bandwidth(std::string_view name, double fallback, Limits limits, std::string_view help) {
  return number(name, Dimension::bytes_per_second, fallback, limits, help, false);
}

double Params::rate(std::string_view name, double fallback, Limits limits, std::string_view help,
                    std::span<const PerOperation> need) {
  const std::string key(name);
  const config::Value* value = find(name);
  const std::string also = need.empty() ? "" : fmt::format(", or {}", kNeed);
  if (need.empty() || value == nullptr || !value->is_scalar() || value->text != kNeed)
    return number(name, Dimension::per_second, fallback, limits, help, false, also);
  declared_.push_back({key, "rate", "", range_text(limits, Dimension::per_second) + also, std::string(help)});
  const double rate = needed_rate(name, fallback, need);
  resolved_[key] = rate;
  written_[key] = as_written(rate, Dimension::per_second);
  return rate;
}

double Params::needed_rate(std::string_view name, double fallback, std::span<const PerOperation> need) {
  double rate = 0;
  std::vector<std::string> metrics;
  for (const PerOperation& one : need) {
    const bool others = one.metric.find('.') != std::string_view::npos;
    metrics.push_back(others ? std::string(one.metric) : fmt::format("{}.{}", owner_, one.metric));
    if (needed_ == nullptr) continue;
    const auto found = needed_->find(metrics.back());
    if (found != needed_->end()) rate = std::max(rate, found->second / one.amount);
  }
  if (rate > 0) return rate;
  problem(name, needed_ == nullptr ? "need: there is no job; give one with --job FILE, or a rate such as 500/s"
                                   : fmt::format("need: this job has none that is measured by {}; give a rate "
                                                 "such as 500/s",
                                                 join(metrics)));
  return fallback;
}

bool Params::flag(std::string_view name, bool fallback, std::string_view help) {
  return choice(name, fallback ? "true" : "false", {"true", "false"}, help) == "true";
}

std::string Params::choice(std::string_view name, std::string_view fallback, std::vector<std::string> allowed,
                           std::string_view help) {
  const bool flag = allowed.size() == 2 && allowed[0] == "true";
  declared_.push_back(
      {std::string(name), flag ? "flag" : "choice", std::string(fallback), join(allowed, " | "), std::string(help)});
  std::string result(fallback);
  if (const config::Value* value = find(name)) {
    if (value->is_scalar() && std::find(allowed.begin(), allowed.end(), value->text) != allowed.end()) {
      result = value->text;
    } else {
      problem(name, fmt::format("'{}' is not one of: {}{}", value->is_scalar() ? value->text : "a list or map",
                                join(allowed), value->is_scalar() ? did_you_mean(value->text, allowed) : ""));
    }
  }
  written_[std::string(name)] = result;
  if (flag) {
    resolved_[std::string(name)] = result == "true";
  } else {
    resolved_[std::string(name)] = result;
  }
  return result;
}

bool Params::leads_to_objects(std::string_view name) const {
  const config::Value* value = find(name);
  if (value == nullptr) return makes_objects_;
  return value->is_scalar() && is_object_path(value->text);
}

std::string Params::path(std::string_view name, std::string_view help, bool objects) {
  declared_.push_back({std::string(name), "path", "", "a path", std::string(help)});
  std::string result;
  if (const config::Value* value = find(name)) {
    std::string given;
    try {
      given = data_path(value->text);
    } catch (const UsageError& e) {
      problem(name, e.what());
      return result;
    }
    if (is_object_path(given) && !objects) {
      problem(
          name,
          "leads to files here, not into an object store: small_file_read, shard_stream, random_read, input_pipeline, "
          "mixed, local_cache, checkpoint_read and metadata read s3://");
    } else if (is_object_path(given)) {
      result = given;
    } else if (value->is_scalar() && !given.empty()) {
      result = std::filesystem::absolute(given).lexically_normal().string();
    } else {
      problem(name, "must be a path");
    }
  }
  if (!result.empty()) resolved_[std::string(name)] = written_[std::string(name)] = result;
  return result;
}

std::string Params::text(std::string_view name, std::string_view fallback, std::string_view help) {
  declared_.push_back({std::string(name), "text", std::string(fallback), "text", std::string(help)});
  std::string result(fallback);
  if (const config::Value* value = find(name)) {
    if (value->is_scalar()) {
      result = value->text;
    } else {
      problem(name, "must be text");
    }
  }
  resolved_[std::string(name)] = written_[std::string(name)] = result;
  return result;
}

void Params::conflict(std::string_view name, std::string_view why) { problem(name, std::string(why)); }

void Params::finish(const std::vector<std::string>& common) {
  std::vector<std::string> known = common;
  for (const ParamInfo& info : declared_) known.push_back(info.name);
  std::sort(known.begin(), known.end());
  for (const config::Value::Entry& entry : entry_.entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    problems_.error(entry.key_where, fmt::format("{}: unknown key '{}'{} (keys: {})", owner_, entry.key,
                                                 did_you_mean(entry.key, known), join(known)));
  }
}

}  // namespace headrace
