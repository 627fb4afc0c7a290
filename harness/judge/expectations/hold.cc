#include "harness/judge/expectations/hold.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "harness/base/units.h"
#include "harness/judge/verdict/answers.h"
#include "harness/record/metric.h"

namespace headrace::expectations {
namespace {

using judging::RecordedPoint;

/// Beyond it a part carries more than it can: rounding, and clocks that are not the same.
constexpr double kAbove = 1.03;

std::optional<double> number_of(const ParamValue& value) {
  if (const auto* whole = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

std::string text_of(const ParamValue& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

bool is_one_of(const ParamValue& value, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [text = text_of(value)](const std::string& word) { return word == text; });
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// Was the point measured as in the entry? A parameter that the workload lacks is ignored.
bool fits(const FigureEntry& entry, const RecordedPoint& point) {
  if (entry.workload != point.workload) return false;
  if (!entry.cache.empty() && !contains(entry.cache, to_string(point.cache))) return false;
  if (entry.nodes != 0 && entry.nodes != point.nodes) return false;
  for (const auto& [name, words] : entry.with) {
    const auto at = point.params.find(name);
    if (at != point.params.end() && !is_one_of(at->second, words)) return false;
  }
  for (const auto& [name, least] : entry.at_least) {
    const auto at = point.params.find(name);
    if (at == point.params.end()) continue;
    if (const auto value = number_of(at->second); value && *value < least) return false;
  }
  return true;
}

bool fits(const FigureEntry& entry, const Part& part) {
  if (entry.part != part.kind || (entry.most_rate != 0 && part.rate > entry.most_rate)) return false;
  return entry.link.empty() || entry.link == part.link || (part.link.empty() && part.rate == 0);
}

bool has(const RecordedPoint& point, const std::string& metric) {
  return std::any_of(point.repetitions.begin(), point.repetitions.end(),
                     [&](const auto& r) { return r.counted && r.metrics.contains(metric); });
}

/// A figure and the part that it shows.
struct Shown {
  std::string metric;
  Part part;
};

/// Where the point does not name its ports: the rate of all that are up, if they have the same.
std::optional<Part> port_of(const FigureEntry& entry, std::span<const Part> parts, const RecordedPoint& point) {
  std::vector<const Part*> up;
  std::string asked;
  for (const char* name : {"device", "interface"})
    if (const auto at = point.params.find(name); at != point.params.end()) asked = text_of(at->second);
  for (const Part& part : parts) {
    if (!fits(entry, part) || !part.up) continue;
    const bool named = part.name == asked || part.name.starts_with(asked + "/");
    if (asked.empty() ? part.how != "no card behind it" : named) up.push_back(&part);
  }
  if (up.empty()) return std::nullopt;
  Part one = *up.front();
  const bool alike = std::all_of(up.begin(), up.end(), [&](const Part* p) { return p->rate == one.rate; });
  if (alike) return one;
  one.name = one.kind == "rdma_port" ? "RDMA ports" : "Ethernet ports";
  one.rate = 0;
  one.how = "ports of several rates are up, and the one that carried it is not reported";
  return one;
}

std::vector<Shown> shown_by(const FigureEntry& entry, std::span<const Part> parts, const RecordedPoint& point) {
  std::vector<Shown> all;
  if (entry.part == "rdma_port" || entry.part == "ethernet_port") {
    if (auto port = port_of(entry, parts, point)) all.push_back({entry.metric, std::move(*port)});
    return all;
  }
  const Part* slowest = nullptr;
  for (const Part& part : parts) {
    if (!fits(entry, part)) continue;
    if (const std::string own = device_metric(entry.metric, part.name); has(point, own)) all.push_back({own, part});
    if (slowest == nullptr || part.rate < slowest->rate) slowest = &part;
  }
  // The one part that there is, or the slowest of several that work together.
  if (all.empty() && slowest != nullptr && entry.part != "gpu_pair") all.push_back({entry.metric, *slowest});
  return all;
}

Standing standing_of(const Judgement& j, const Expected& e) {
  if (!j.measured || j.reason == Reason::cache_unproven) return Standing::not_known;
  if (j.outcome == Outcome::fail) return Standing::far_below;
  if (j.low.value_or(*j.measured) > kAbove * std::max(1.0, e.usual_high) * e.part.rate) return Standing::above;
  if (*j.measured < e.least * e.part.rate) return Standing::perhaps;
  return *j.measured < e.usual_low * e.part.rate ? Standing::below : Standing::usual;
}

Expected held(const FigureEntry& entry, Shown shown, const RecordedPoint& point) {
  Expected e{.point = point.id,
             .metric = std::move(shown.metric),
             .part = std::move(shown.part),
             .usual_low = entry.usual_low,
             .usual_high = entry.usual_high,
             .least = entry.least,
             .source = entry.source};
  // Judged as a need of that size would be, with all that a verdict minds.
  judging::Question question;
  question.blank.id = e.part.kind;
  question.blank.scope = "hardware";
  question.blank.unit = "B/s";
  question.blank.need = question.blank.required = e.least * e.part.rate;
  question.measured_by = {point.workload + "." + e.metric};
  question.per_node = true;
  const Judgement j = judging::answer(question, point, 0).judgement;
  e.measured = j.measured;
  e.low = j.low;
  e.high = j.high;
  if (e.part.rate == 0) {
    e.why = e.part.how;
    return e;
  }
  e.standing = standing_of(j, e);
  if (e.standing == Standing::not_known || e.standing == Standing::perhaps) {
    e.reason = j.reason;
    e.why = j.explanation;
  }
  return e;
}

std::string rate_text(double rate, const Part& part) {
  const bool port = part.kind == "rdma_port" || part.kind == "ethernet_port";
  return port ? fmt::format("{:.4g} Gbit/s", rate * 8e-9) : format_quantity(rate, Dimension::bytes_per_second);
}

std::string percent(double share) { return fmt::format("{:.{}f}", 100 * share, share < 0.1 ? 1 : 0); }

}  // namespace

std::string_view to_string(Standing standing) {
  switch (standing) {
    case Standing::far_below:
      return "far below";
    case Standing::perhaps:
      return "perhaps far below";
    case Standing::below:
      return "below";
    case Standing::usual:
      return "usual";
    case Standing::above:
      return "above";
    case Standing::not_known:
      break;
  }
  return "not known";
}

std::optional<double> Expected::share() const {
  if (!measured || part.rate == 0) return std::nullopt;
  return *measured / part.rate;
}

std::vector<Expected> hold(std::span<const Part> parts, const Table& table, std::span<const RecordedPoint> points) {
  std::vector<Expected> all;
  for (const RecordedPoint& point : points) {
    if (point.status != PointStatus::ok && point.status != PointStatus::interrupted) continue;
    std::vector<std::pair<std::string, std::string>> reported;  // the entry that comes first counts
    for (const FigureEntry& entry : table.figures) {
      if (!fits(entry, point)) continue;
      for (Shown& shown : shown_by(entry, parts, point)) {
        if (!has(point, shown.metric)) continue;
        if (std::pair key(shown.metric, shown.part.kind);
            std::find(reported.begin(), reported.end(), key) == reported.end())
          reported.push_back(std::move(key));
        else
          continue;
        all.push_back(held(entry, std::move(shown), point));
      }
    }
  }
  return all;
}

std::string sentence(const Expected& e) {
  const std::string who = e.part.how == e.part.name ? e.part.name : fmt::format("{}: {}", e.part.name, e.part.how);
  if (e.part.rate == 0) return fmt::format("no reference value ({})", who);
  const std::string usual = fmt::format("usual is {} to {} %", percent(e.usual_low), percent(e.usual_high));
  if (!e.measured) return fmt::format("{}; {}", who, usual);
  std::string text =
      fmt::format("{} % of {} ({}); {}", percent(*e.share()), rate_text(e.part.rate, e.part), who, usual);
  if (e.reason == Reason::cache_unproven)
    text += fmt::format(": nothing is concluded, as it may have come from memory ({})", to_string(e.reason));
  if (e.standing == Standing::far_below)
    text += fmt::format(": far below, for even its upper bound is under {} %", percent(e.least));
  if (e.standing == Standing::perhaps)
    text += fmt::format(": perhaps far below, which begins at {} %, but the repetitions do not decide it ({})",
                        percent(e.least), to_string(e.reason));
  if (e.standing == Standing::above)
    text += ": more than it can carry: a cache served it, or it is another part than it says";
  return text;
}

std::vector<Prospect> prospects(std::span<const Part> parts, const Table& table) {
  std::vector<Prospect> all;
  for (const Part& part : parts) {
    if (part.rate == 0) continue;
    for (const FigureEntry& entry : table.figures)
      if (fits(entry, part)) all.push_back({&part, &entry});
  }
  return all;
}

}  // namespace headrace::expectations
