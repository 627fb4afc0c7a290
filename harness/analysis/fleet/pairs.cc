// Matrices of pairs of many runs: the newest of each set of nodes counts, another session confirms.
#include <algorithm>
#include <set>

#include "harness/analysis/fleet/state.h"

namespace headrace::fleet {
namespace {

bool has_all(const PairMatrix& matrix, const std::vector<std::string>& names) {
  const std::set<std::string> known(matrix.names.begin(), matrix.names.end());
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return known.contains(name); });
}

/// The ends that a finding is about: of a rail all of the matrix.
std::vector<std::string> ends_of(const PairFinding& finding, const PairMatrix& matrix) {
  std::vector<std::string> ends;
  for (const std::string& name : matrix.names)
    if (finding.subject == name || finding.subject.starts_with(name + " to ") ||
        finding.subject.ends_with(" to " + name) || (!matrix.rails.empty() && name.starts_with(finding.subject + " ")))
      ends.push_back(name);
  return ends.empty() ? matrix.names : ends;
}

Status status_of(const PairFinding& finding, const RunPairs& reported, const std::vector<const RunPairs*>& older) {
  // Its own run failed for it: by the bounds of its repetitions, and once more after a rest.
  if (std::find(reported.slow_parts.begin(), reported.slow_parts.end(), finding.part) != reported.slow_parts.end())
    return Status::confirmed;
  for (const RunPairs* other : older) {
    if (other->key != reported.key || same_session(*other, reported) ||
        !has_all(other->matrix, ends_of(finding, reported.matrix)))
      continue;
    for (const PairFinding& again : pair_findings(blame(other->matrix), other->matrix))
      if (again.kind == finding.kind && again.subject == finding.subject) return Status::confirmed;
    return Status::passing;
  }
  return Status::suspected;
}

}  // namespace

std::vector<JudgedPairs> judge_pairs(const std::vector<RunPairs>& reported) {
  std::vector<const RunPairs*> newest_first;
  for (const RunPairs& one : reported) newest_first.push_back(&one);
  std::sort(newest_first.begin(), newest_first.end(), [](const RunPairs* a, const RunPairs* b) {
    return std::tie(b->started_utc, a->key, a->path) < std::tie(a->started_utc, b->key, b->path);
  });
  std::vector<JudgedPairs> judged;
  for (std::size_t i = 0; i < newest_first.size(); ++i) {
    const RunPairs& one = *newest_first[i];
    if (std::any_of(
            newest_first.begin(), newest_first.begin() + static_cast<std::ptrdiff_t>(i),
            [&](const RunPairs* newer) { return newer->key == one.key && has_all(newer->matrix, one.matrix.names); }))
      continue;
    const std::vector<const RunPairs*> older(newest_first.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                             newest_first.end());
    JudgedPairs pairs{one.workload, one.point, one.run, one.path, one.started_utc, one.matrix, blame(one.matrix), {}};
    for (PairFinding& finding : pair_findings(pairs.blame, pairs.matrix)) {
      const Status status = status_of(finding, one, older);
      pairs.findings.push_back({std::move(finding), status});
    }
    judged.push_back(std::move(pairs));
  }
  return judged;
}

}  // namespace headrace::fleet
