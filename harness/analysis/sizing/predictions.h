// How good predictions of rehearsed jobs have been on the machines that are sized: the record of earlier rehearsals.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/results/run_file.h"

namespace headrace::sizing {

/// One rehearsal whose utilization single measurements had predicted. Ratios.
struct PastPrediction {
  std::string run, node, job, grade;  // the last: close | within its interval | off
  double predicted = 0, rehearsed = 0, error = 0;
};

/// The predictions on one machine, over all its rehearsals.
struct PredictionRecord {
  std::string node;
  std::vector<PastPrediction> each;
  double typical = 0;    // the median of the errors' sizes
  double bias = 0;       // the median error: above 0, predictions promised too much
  double worst = 0;      // the error that is furthest from 0
  std::string reported;  // a sentence
};

/// By node, in the order in which the runs name them; a run that is given twice counts once. Empty: no run is a
/// rehearsal with a prediction.
std::vector<PredictionRecord> predictions_of(std::span<const results::StoredRun> runs);

}  // namespace headrace::sizing
