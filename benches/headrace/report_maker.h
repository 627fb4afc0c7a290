// Draws a run's page by the Python package that headrace ships.
#pragma once

#include <string>

namespace headrace::cli {

/// What came of drawing a page: the file, or why there is none.
struct Drawn {
  std::string file;  // "" = none
  std::string reason;
  bool bad_run = false;  // the run file is not good: the user's to mend
};

/// Runs `python3 -m headrace_report RUN_JSON -o FILE`. Never throws: a run is good without its
/// page.
Drawn draw_report(const std::string& run_json, const std::string& file);

}  // namespace headrace::cli
