#include "harness/judge/verdict/word.h"

#include <csignal>

namespace headrace {
namespace {

struct Row {
  Outcome outcome;
  std::string_view word, sign, ascii;
  int code;
};

constexpr Row kRows[] = {{Outcome::fail, "FAIL", "✘", "x", 10},
                         {Outcome::error, "ERROR", "!", "!", 1},
                         {Outcome::inconclusive, "INCONCLUSIVE", "?", "?", 11},
                         {Outcome::interrupted, "INTERRUPTED", "!", "!", 128},
                         {Outcome::incomplete, "INCOMPLETE", "?", "?", 12},
                         {Outcome::stale, "STALE", "?", "?", 12},
                         {Outcome::skipped, "SKIPPED", "–", "-", 77},
                         {Outcome::pass, "PASS", "✔", "+", 0},
                         {Outcome::measured, "MEASURED", "", "", 0}};

const Row& row(Outcome outcome) { return kRows[static_cast<int>(outcome)]; }

}  // namespace

std::string_view to_string(Outcome outcome) { return row(outcome).word; }

std::optional<Outcome> outcome_named(std::string_view word) {
  for (const Row& one : kRows)
    if (one.word == word) return one.outcome;
  return std::nullopt;
}

std::string_view symbol(Outcome outcome, bool ascii) { return ascii ? row(outcome).ascii : row(outcome).sign; }

int exit_code(Outcome outcome, int signal) {
  if (outcome == Outcome::interrupted) return row(outcome).code + (signal != 0 ? signal : SIGINT);
  return row(outcome).code;
}

int exit_code_when_lost(int code) {
  for (const Outcome good_or_open : {Outcome::pass, Outcome::inconclusive, Outcome::incomplete, Outcome::skipped})
    if (code == exit_code(good_or_open)) return exit_code(Outcome::error);
  return code;
}

Outcome worst(const Found& found, Outcome otherwise) {
  if (found.fail) return Outcome::fail;
  if (found.error) return Outcome::error;
  if (found.inconclusive) return Outcome::inconclusive;
  if (found.incomplete) return Outcome::incomplete;
  return otherwise;
}

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::none:
      return "";
    case Reason::few_reps:
      return "few-reps";
    case Reason::few_ops:
      return "few-ops";
    case Reason::not_steady:
      return "not-steady";
    case Reason::cache_unproven:
      return "cache-unproven";
    case Reason::disturbed:
      return "disturbed";
    case Reason::straddles:
      return "straddles";
    case Reason::fingerprint_differs:
      return "fingerprint-differs";
    case Reason::two_humped:
      return "two-humped";
    case Reason::single_session:
      return "single-session";
    case Reason::correlated:
      return "correlated";
    case Reason::extrapolated:
      return "extrapolated";
    case Reason::other_settings:
      return "other-settings";
  }
  return "";
}

}  // namespace headrace
