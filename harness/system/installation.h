// Where this copy of headrace keeps what it ships: example configs, the report maker, the docs.
#pragma once

#include <string>

namespace headrace::system {

/// Folders beside the binary, absolute; "" when this copy has none.
struct Installation {
  std::string binary;   // the running executable
  std::string configs;  // quickstart.yaml, jobs/ ...
  std::string reports;  // holds the Python package headrace_report
  std::string docs;
  bool installed =
      false;  // from `cmake --install`; false = run from the source tree's build folder
};

/// Looks from /proc/self/exe: PREFIX/bin/headrace -> PREFIX/share/headrace; SOURCE/build/X/headrace
/// -> SOURCE. Nothing is compiled in, so that a tree can be copied anywhere.
const Installation& installation();

/// A file that the user named: `path` when it exists, else the shipped file of that name
/// ("configs/quickstart.yaml", "configs/jobs/x.yaml"), so that the documented commands work from
/// any folder. `path` itself when there is neither.
std::string find_shipped(const std::string& path);

/// A Python that can draw the report.
struct ReportPython {
  std::string executable;  // "" when there is none
  std::string reason;      // why not: which were tried and what each lacks
};

/// Tries $HEADRACE_PYTHON, then python3 on PATH, then /usr/bin/python3: the first that has
/// matplotlib and jinja2.
ReportPython find_report_python();

}  // namespace headrace::system
