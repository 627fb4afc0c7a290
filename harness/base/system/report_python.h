// The Python that draws pages, started so that only the report maker and that Python's packages run.
#pragma once

#include <string>
#include <vector>

namespace headrace::system {

/// A Python that can draw the report.
struct ReportPython {
  std::string executable;  // "" when there is none
  std::string reason;      // why not: which were tried and what each lacks
};

/// $HEADRACE_PYTHON when it is set: its whole path. Else the first of /usr/bin/python3 and
/// /usr/local/bin/python3 that has these modules. PATH is not asked.
ReportPython find_python(const std::vector<std::string>& modules);
/// The same, of one that draws: with matplotlib and jinja2.
ReportPython find_report_python();

/// Runs the report maker in `reports` with these arguments, its standard output added to `written`, and returns its
/// exit status. -1 when it did not start or did not exit. Isolated: Python reads no variable, no folder of the user's
/// and not the current one. So paths among the arguments must be absolute.
int run_report_maker(const ReportPython& python, const std::string& reports, const std::vector<std::string>& arguments,
                     std::string& written);

}  // namespace headrace::system
