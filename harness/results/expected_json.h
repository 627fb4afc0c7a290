// The part of a run file about the machine's parts, and figures compared with those of sound hardware.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/expectations/hold.h"
#include "harness/judge/verdict/record.h"
#include "harness/results/json_place.h"

namespace headrace::results {

nlohmann::ordered_json parts_part(std::span<const expectations::Part> parts);
nlohmann::ordered_json expected_part(std::span<const expectations::Expected> figures);

/// The record of a finished run: its parts with their measurements.
struct RecordedParts {
  std::vector<expectations::Part> parts;
  std::vector<judging::RecordedPoint> points;
};
/// The parts from a run folder or its run.json. Throws UsageError as read_run_file does, and when the file is of a
/// headrace that did not record the machine's parts.
RecordedParts read_recorded_parts(const std::string& path);

}  // namespace headrace::results
