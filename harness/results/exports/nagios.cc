// The output of a Nagios plugin (Monitoring Plugins' development guidelines): a status line and
// performance data, 'label'=value;warn;crit. Rates have no unit there; times are in seconds.
#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/verdict/slow_parts.h"
#include "harness/results/exit_map.h"
#include "harness/results/exports.h"
#include "harness/results/parts.h"

namespace headrace::results {
namespace {

constexpr double kThin = 1.1;  // headroom under which a need is met thinly (verdict.h)

/// Quotes and equal signs end a label, bars and line breaks end a line.
std::string plain(std::string_view text, std::string_view forbidden) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || forbidden.find(c) != forbidden.npos) c = '_';
  return out;
}

std::string performance(const Judgement& j) {
  if (!j.measured || j.need <= 0) return "";
  const double scale = to_base_unit(j.unit), need = j.need * scale;
  const std::string_view unit = base_unit(j.unit);
  const std::string_view reported = unit == "s" || unit == "B" ? unit : "";
  const std::string label = plain(j.scope.empty() ? j.id : j.id + "@" + j.scope, "'=|");
  // "a:" alerts below a, "a" alerts above.
  return j.higher_is_better
             ? fmt::format(" '{}'={:.9g}{};{:.9g}:;{:.9g}:", label, *j.measured * scale, reported, need * kThin, need)
             : fmt::format(" '{}'={:.9g}{};{:.9g};{:.9g}", label, *j.measured * scale, reported, need / kThin, need);
}

/// Names of the needs with this outcome, three at most.
std::string named(const StoredVerdict& verdict, Outcome outcome) {
  std::string out;
  unsigned reported = 0;
  const unsigned count = verdict.count(outcome);
  for (const Judgement& j : verdict.judgements) {
    if (j.outcome != outcome || reported == 3) continue;
    out += (reported++ == 0 ? "" : ", ") + (judging::of_a_part(j) ? j.scope : j.id);
  }
  return count > reported ? fmt::format("{} and {} more", out, count - reported) : out;
}

}  // namespace

std::string nagios_text(const StoredVerdict& verdict, std::string_view old) {
  constexpr std::string_view kStates[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  const int state = mapped_exit(ExitMap::nagios, verdict.summary.exit_code, verdict.remark());
  std::string line =
      fmt::format("HEADRACE {} - {}: {}", kStates[state], to_string(verdict.summary.word),
                  verdict.judgements.empty()
                      ? "no verdict, as the run had no needs to judge"
                      : fmt::format("{} of {} needs met", verdict.count(Outcome::pass), verdict.judgements.size()));
  if (verdict.thin() > 0) line += fmt::format(", {} thinly", verdict.thin());
  if (verdict.count(Outcome::fail) > 0) line += "; missed: " + named(verdict, Outcome::fail);
  if (verdict.count(Outcome::error) > 0) line += "; error: " + named(verdict, Outcome::error);
  if (const unsigned failed = verdict.summary.error - std::min(verdict.summary.error, verdict.count(Outcome::error));
      failed > 0)
    line += fmt::format("; {} point{} failed", failed, failed == 1 ? "" : "s");
  if (verdict.count(Outcome::inconclusive) > 0) line += "; open: " + named(verdict, Outcome::inconclusive);
  if (!old.empty()) line += fmt::format("; {}", old);
  line = plain(line, "|");
  std::string data;
  for (const Judgement& j : verdict.judgements) data += performance(j);
  return data.empty() ? line + "\n" : fmt::format("{} |{}\n", line, data);
}

const RegisterExport nagios_registered{
    60, {"nagios", "", [](const StoredRun& run, const ExportOptions&) { return nagios_text(run); }, "HEADRACE "}};

}  // namespace headrace::results
