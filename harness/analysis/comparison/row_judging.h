// One metric of a joined point: what counts of it on both sides, and what may be said.
#pragma once

#include <optional>

#include "harness/analysis/comparison/join.h"

namespace headrace::comparison {

/// What a row is judged by beside its own values.
struct RowContext {
  const Options* options = nullptr;
  const Comparison* all = nullptr;
  statistics::SessionSpread history;  // of this metric; ignored for interleaved blocks
  std::optional<double> noise_floor;
};

/// The row, judged as if it stood alone; or why there is none.
struct JudgedRow {
  std::optional<Row> row;
  std::string side, why;
};
JudgedRow judge_row(const Joined& joined, const Side& base, const Side& other, const results::StoredMetric& metric,
                    const RowContext& context);

/// Are its values of this run fit to be compared at all: cache states proven, and few of the
/// repetitions disturbed?
bool is_evidence(const results::StoredPoint& point);

bool is_changed(statistics::Change change);

}  // namespace headrace::comparison
