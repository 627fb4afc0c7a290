// One metric of a joined point: its counting values on both sides, and the allowed conclusion.
#pragma once

#include <optional>

#include "harness/analysis/comparison/join.h"

namespace headrace::comparison {

/// Context by which a row is judged in addition to its own values.
struct RowContext {
  const Options* options = nullptr;
  const Comparison* all = nullptr;
  statistics::SessionSpread history;  // of this metric; ignored for interleaved blocks
  std::optional<double> noise_floor;
};

/// The row, judged on its own; or why there is none.
struct JudgedRow {
  std::optional<Row> row;
  std::string side, why;
};
JudgedRow judge_row(const Joined& joined, const Side& base, const Side& other, const results::StoredMetric& metric,
                    const RowContext& context);

/// Are its values fit for a comparison: cache states proven, and few of the repetitions disturbed?
bool is_evidence(const results::StoredPoint& point);

bool is_changed(statistics::Change change);

}  // namespace headrace::comparison
