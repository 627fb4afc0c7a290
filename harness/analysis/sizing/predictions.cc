#include "harness/analysis/sizing/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/judge/statistics/summary.h"

namespace headrace::sizing {
namespace {

void judge_prediction(PredictionRecord& r) {
  std::vector<double> sizes, errors;
  for (const PastPrediction& p : r.each) {
    errors.push_back(p.error);
    sizes.push_back(std::abs(p.error));
    if (std::abs(p.error) > std::abs(r.worst)) r.worst = p.error;
  }
  r.typical = statistics::median(sizes);
  r.bias = statistics::median(errors);
  const auto graded = [&r](const char* grade) { return std::ranges::count(r.each, grade, &PastPrediction::grade); };
  const std::size_t count = r.each.size();
  r.reported =
      count == 1
          ? fmt::format("one rehearsal on {}: predicted {:.1f} %, rehearsed {:.1f} % ({}); one says little", r.node,
                        100 * r.each.front().predicted, 100 * r.each.front().rehearsed, r.each.front().grade)
          : fmt::format(
                "{} rehearsals on {}: utilization was predicted {:.1f} points off in the median, {:+.1f} at "
                "worst; {} close, {} within the interval, {} off",
                count, r.node, 100 * r.typical, 100 * r.worst, graded("close"), graded("within its interval"),
                graded("off"));
  if (count > 2 && std::abs(r.bias) > 0.03)
    r.reported += r.bias > 0 ? "; predictions promise too much here" : "; predictions promise too little here";
}

}  // namespace

std::vector<PredictionRecord> predictions_of(std::span<const results::StoredRun> runs) {
  std::vector<PredictionRecord> all;
  std::set<std::string> seen;
  for (const results::StoredRun& run : runs) {
    if (!run.prediction || !seen.insert(run.id).second) continue;
    auto at = std::ranges::find(all, run.node, &PredictionRecord::node);
    if (at == all.end()) at = all.insert(all.end(), {.node = run.node, .each = {}, .reported = {}});
    const results::StoredPrediction& p = *run.prediction;
    at->each.push_back({.run = run.id,
                        .node = run.node,
                        .job = run.job_name,
                        .grade = p.grade,
                        .predicted = p.predicted,
                        .rehearsed = p.predicted - p.error,
                        .error = p.error});
  }
  for (PredictionRecord& r : all) judge_prediction(r);
  return all;
}

}  // namespace headrace::sizing
