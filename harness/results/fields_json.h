// Described structs as JSON (harness/record/fields.h): one member per key, in the order of the description. Written and
// read by the same words.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/results/json_place.h"

namespace headrace::results {

/// The names of an operation's parts, in the order of PhaseResult::parts. Files have parts by name; names that a reader
/// meets first there are added.
using PartNames = std::vector<std::string>;

/// An object for the structs in fields_json.cc. Histograms are sparse, series are columns.
template <class T>
nlohmann::ordered_json json_of(const T& value, const PartNames& parts = {});

/// Reads the output of json_of() into `value`. Missing members stay as they are, unless the description requires them.
/// Throws UsageError with the place of a missing member or a wrong type.
template <class T>
void read_fields(const JsonPlace& place, T& value, PartNames& parts);
template <class T>
void read_fields(const JsonPlace& place, T& value) {
  PartNames none;
  read_fields(place, value, none);
}

}  // namespace headrace::results
