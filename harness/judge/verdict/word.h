// headrace's final words: their texts, exit codes and order, and why there is no better one.
#pragma once

#include <optional>
#include <string_view>

namespace headrace {

/// The result of a need, a point, a run or several runs: the worst first.
enum class Outcome { fail, error, inconclusive, interrupted, incomplete, stale, skipped, pass, measured };

/// Those that one need can have.
inline constexpr Outcome kOutcomes[] = {Outcome::pass, Outcome::fail, Outcome::inconclusive, Outcome::skipped,
                                        Outcome::error};

std::string_view to_string(Outcome outcome);  // "PASS"...
/// Any of them, by its word.
std::optional<Outcome> outcome_named(std::string_view word);
std::string_view symbol(Outcome outcome, bool ascii);  // ✔ ✘ ? – !

/// PASS, MEASURED 0; ERROR 1; FAIL 10; INCONCLUSIVE 11; INCOMPLETE, STALE 12; SKIPPED 77; INTERRUPTED 128 + `signal`
/// (0: that of SIGINT).
int exit_code(Outcome outcome, int signal = 0);
/// `code` of a command whose output was lost, as on a full disk: 1, but FAIL and signals show more.
int exit_code_when_lost(int code);

/// The outcomes of the parts of a whole.
struct Found {
  bool fail = false, error = false, inconclusive = false, incomplete = false;
};
/// The worst of the findings; `otherwise` where there are none.
Outcome worst(const Found& found, Outcome otherwise = Outcome::pass);
constexpr Outcome worst(Outcome a, Outcome b) { return a < b ? a : b; }

/// Why a judgement is INCONCLUSIVE; the words are fixed (docs/explanation/statistics.md).
enum class Reason {
  none,
  few_reps,
  few_ops,
  not_steady,
  cache_unproven,
  disturbed,
  straddles,
  fingerprint_differs,
  two_humped,
  single_session,
  correlated,
  extrapolated,   // of a sizing: to more nodes than were measured together
  other_settings  // measured otherwise than the job will do it
};
inline constexpr Reason kReasons[] = {Reason::none,          Reason::few_reps,       Reason::few_ops,
                                      Reason::not_steady,    Reason::cache_unproven, Reason::disturbed,
                                      Reason::straddles,     Reason::two_humped,     Reason::single_session,
                                      Reason::correlated,    Reason::extrapolated,   Reason::fingerprint_differs,
                                      Reason::other_settings};
std::string_view to_string(Reason reason);  // "few-reps"...

/// As in documents. A template, as headers know nothing of the library; without it enums would become numbers.
template <class Json>
void to_json(Json& json, Outcome outcome) {
  json = to_string(outcome);
}
template <class Json>
void to_json(Json& json, Reason reason) {
  json = to_string(reason);
}

}  // namespace headrace
