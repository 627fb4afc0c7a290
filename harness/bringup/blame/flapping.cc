#include "harness/bringup/blame/flapping.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace::bringup {

std::optional<Flapping> flapping(const Record& record, unsigned node) {
  if (std::none_of(record.sessions.begin(), record.sessions.end(),
                   [&](const SessionRecord& one) { return one.failed.contains(node); }))
    return std::nullopt;
  std::string reported;
  unsigned falls = 0, in_a_row = 0;  // failed after it had passed; passed since
  for (std::size_t s = 0; s < record.sessions.size(); ++s) {
    const SessionRecord& session = record.sessions[s];
    const auto failed = session.failed.find(node);
    const bool passed = std::find(session.passed.begin(), session.passed.end(), node) != session.passed.end();
    if (!passed && failed == session.failed.end()) continue;
    if (!passed) falls += in_a_row > 0;
    in_a_row = passed ? in_a_row + 1 : 0;
    reported += fmt::format("{}{} session {} ({}){}", reported.empty() ? "" : "; ", passed ? "passed" : "failed", s + 1,
                            session.started_utc, passed ? "" : ": " + failed->second);
  }
  if (in_a_row == 0 || in_a_row > falls) return std::nullopt;
  return Flapping{falls + 1 - in_a_row, reported};
}

}  // namespace headrace::bringup
