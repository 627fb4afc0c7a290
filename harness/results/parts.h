// Common parts of run files: the objects of run.json, and names of things.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "harness/engine/run_result.h"

namespace headrace::results {

std::string_view to_string(PointStatus status);
std::string_view to_string(RepetitionStatus status);
std::string_view to_string(Better better);
std::string_view to_string(AcrossRanks across);
/// The host's name from the environment, or "".
std::string node_name(const RunResult& run);
/// The base unit of a percentile by its metric's name: 1e-9 for "ns", else 1.
double to_base_unit(std::string_view unit);
std::string_view base_unit(std::string_view unit);

/// "schema", "kind", "headrace": how every JSON file of a run begins.
nlohmann::ordered_json head(const RunResult& run, std::string_view kind);
nlohmann::ordered_json run_part(const RunResult& run);
nlohmann::ordered_json summary_part(const Summary& summary);
nlohmann::ordered_json judgements_part(const RunResult& run);
nlohmann::ordered_json noise_part(const NoiseFloor& noise);
nlohmann::ordered_json environment_part(const Fingerprint& environment);

}  // namespace headrace::results
