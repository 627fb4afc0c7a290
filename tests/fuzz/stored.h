// What holds for every stored verdict that is believed.
#pragma once

#include <fmt/format.h>

#include <string>

#include "harness/results/exports.h"
#include "harness/results/stored_verdict.h"
#include "tests/fuzz/invariant.h"

namespace headrace::fuzzing {

inline void check_verdict(const results::StoredVerdict& verdict) {
  const Summary& s = verdict.summary;
  const unsigned judged = verdict.count(Outcome::pass) + verdict.count(Outcome::fail) +
                          verdict.count(Outcome::inconclusive) + verdict.count(Outcome::skipped) +
                          verdict.count(Outcome::error);
  expect(judged == verdict.judgements.size() && judged == s.needs, "every judgement counts",
         std::string(to_string(s.word)));
  if (s.exit_code == 0)
    expect(verdict.count(Outcome::pass) == judged && s.word == (judged > 0 ? Outcome::pass : Outcome::measured),
           "all is well only where every need is met", std::string(to_string(s.word)));
  if (verdict.count(Outcome::fail) > 0)
    expect(s.exit_code == 10 || s.exit_code >= 128, "a need that is missed is told", std::string(to_string(s.word)));
  const std::string line = results::nagios_text(verdict);
  expect(line.find('\n') == line.size() - 1, "a plugin says one line", line);
  expect(line.starts_with("HEADRACE OK") ? judged > 0 && s.exit_code == 0 : true, "OK needs a need that was met", line);
  expect(!results::prometheus_text(verdict).empty(), "a verdict has a metric", std::string(to_string(s.word)));
  (void)verdict.ended_s();
}

}  // namespace headrace::fuzzing
