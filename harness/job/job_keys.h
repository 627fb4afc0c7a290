// Every key of a job file, declared once: parsing, defaults, messages and documentation read this
// table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.h"
#include "harness/job/job.h"
#include "harness/job/range.h"

namespace headrace::job {

struct JobKey {
  std::string_view path;  // "step.time"
  Dimension dimension = Dimension::count;
  Range range = {};
  std::string_view fallback = {};        // as a user would write it; "" = none
  std::string_view shown_fallback = {};  // where the default is no plain value: its description
  std::string_view help = {};
  bool required = false;                  // where its section is given or required
  std::vector<std::string> choices = {};  // words: the value is the index
  void (*set)(Job&, double) = nullptr;
  void (*set_text)(Job&, std::string) = nullptr;  // free text instead of a number

  std::string_view section() const;  // "step"; "" for a key at the top
  std::string_view name() const;     // "time"
  /// "above 0 s", "files | shards | tokens", "text".
  std::string allowed() const;
  /// "s", "text", "word".
  std::string unit() const;
  /// As a user would write it, "required", or "not known".
  std::string shown_default() const;
};

/// In the order of the documentation.
std::span<const JobKey> job_keys();
const JobKey* find_job_key(std::string_view path);

/// A part of the file. An optional one that is left out leaves out its needs, its defaults
/// included.
struct JobSection {
  std::string_view name;
  std::string_view help;
  void (*make)(Job&) = nullptr;  // makes the optional section; nullptr = always there
};
std::span<const JobSection> job_sections();
/// The keys at the top first, as a section without a name.
std::vector<JobSection> all_job_sections();

}  // namespace headrace::job
