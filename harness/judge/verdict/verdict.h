// Measured value compared with the need: one of five outcomes, the bounds that decided it, and the cheapest next step.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/statistics/mean_rate.h"
#include "harness/judge/statistics/steady.h"
#include "harness/judge/verdict/word.h"

namespace headrace {

/// The judgement on one need.
struct Judgement {
  std::string id;     // "ingest.read_bandwidth"
  std::string scope;  // "node"
  Outcome outcome = Outcome::skipped;
  Reason reason = Reason::none;
  std::string explanation;  // one sentence for people
  std::string next_step;    // the cheapest thing to do, a command where there is one
  bool thin = false;        // passed with less than 10 % headroom
  double required = 0, need = 0;
  std::string unit;
  bool higher_is_better = true;
  bool meets(double value) const { return higher_is_better ? value >= need : value <= need; }
  // The measured value, and the bounds that decided. Of a rate: total work over total time; else the median.
  std::optional<double> measured, low, high;
  std::optional<double> typical;         // of a rate: the median repetition
  std::optional<double> lost_to_stalls;  // the share by which the rate is surely below the typical one
  std::optional<double> headroom;        // measured / need (lower is better: need / measured)
  unsigned repetitions = 0;
  unsigned disturbed = 0;  // repetitions, counted or taken again
  std::string point;       // id of the point it was measured on
  std::string metric;      // "small_file_read.read_bandwidth"
  std::string way;         // how that point is like the job; "" = it is not, or there is none
  std::string unproven;    // the job's questions that the present data leave open; "" = none
  std::string formula, equation, substituted;
};

/// How the selected points ended, as far as the word for the whole run depends on it.
struct PointCounts {
  unsigned all = 0, skipped = 0;
  unsigned failed = 0;  // that no need in error reports on
};

/// Counts and the one word for the whole run.
struct Summary {
  unsigned needs = 0;  // judged
  unsigned pass = 0, fail = 0, inconclusive = 0;
  unsigned skipped = 0;  // needs; where nothing was asked: points
  unsigned error = 0;    // needs, and points that failed besides
  Outcome word = Outcome::measured;
  int exit_code = 0;  // of the word, and the signal that ended the run
};

/// One repetition that went through, as far as a need is concerned.
struct Taken {
  std::optional<double> value;  // nothing: it did not reach the reported rate (one that held)
  double seconds = 0;           // of a rate: how long that is the rate of
  bool counted = true;          // false: taken again, as it was disturbed
  bool disturbed = false;
};

/// The evidence on one metric of one point when a look is due.
struct Evidence {
  std::vector<Taken> taken;         // in the order in which they were
  bool rate = false;                // judged by its mean over time, not by the median
  unsigned rank = 0;                // of the look plan; 0 = too few
  double alpha = 0.05;              // chance of an error that each bound of a mean may have at this look
  unsigned next_look = 0;           // repetitions at the next look; 0 = this is the last, or the budget is spent
  double cache_unproven_share = 0;  // share of repetitions whose declared cache state was not proven
  double not_steady_share = 0;
  bool too_few_operations = false;
  bool deterministic = false;                       // a fact: one value is its own bound
  std::optional<statistics::SingleRun> single_run;  // one long repetition (rule 19); its bounds are of the only value
  std::string cache_why, disturbed_why,
      not_steady_why;  // of the first repetition that it holds for

  /// The values of the repetitions that count.
  std::vector<double> values() const;
};

/// The value that counts, with the bounds that judge() compares: of a rate the mean over time, else the median.
/// Unbounded (infinite) where there are too few repetitions. At least one repetition that counts has a value.
statistics::Bounded estimate(const Evidence& evidence);

/// The outcome and its reason code. Needs of `judgement`: need, unit, higher_is_better, and
/// for the words id, point and metric. Fills outcome, reason, explanation, next_step, measured,
/// bounds, headroom, thin, repetitions.
void judge(const Evidence& evidence, Judgement& judgement);

/// More repetitions could still change the result of judge(): inconclusive, a look is left, and the cause is chance.
bool undecided(const Evidence& evidence, const Judgement& judgement);

/// Worst first: FAIL, ERROR, INCONCLUSIVE, SKIPPED, PASS; within each the smallest headroom first.
void sort_worst_first(std::vector<Judgement>& judgements);

/// Exit code order 10, 1, 11, 12, 0; 77 when everything was skipped; interrupted wins with 130 or 143. Nothing to judge
/// and no error: MEASURED, 0, or the outcome of skipped points. `signal`: that ended the run, or 0.
Summary summarize(std::span<const Outcome> outcomes, int signal, const PointCounts& points = {});
Summary summarize(std::span<const Judgement> judgements, int signal, const PointCounts& points = {});

/// The summary of a run without stored files, as on a full disk: ERROR. FAIL and signals stay.
Summary when_lost(Summary summary);

}  // namespace headrace
