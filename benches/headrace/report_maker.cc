// Starting the report maker.
#include "benches/headrace/report_maker.h"

#include <filesystem>

#include "harness/system/installation.h"
#include "harness/system/report_python.h"

namespace headrace::cli {

Drawn draw_report(const std::string& data, const std::string& file) {
  const system::Installation& tree = system::installation();
  if (tree.reports.empty())
    return {"", "this copy of headrace has no report maker" +
                    (tree.why.empty() ? std::string() : ": " + tree.why)};
  if (const std::string why = system::foreign_writer_within(tree.reports); !why.empty())
    return {"", "the report maker is not run: " + why};
  const system::ReportPython python = system::find_report_python();
  if (python.executable.empty()) {
    return {"", "no Python that can draw it (" + python.reason +
                    "); install python3-matplotlib and python3-jinja2, then: headrace report " +
                    std::filesystem::path(data).parent_path().string()};
  }
  const int status = system::run_report_maker(
      python, tree.reports,
      {std::filesystem::absolute(data).string(), "-o", std::filesystem::absolute(file).string()});
  constexpr int kBadRun = 2;  // reports/headrace_report/__main__.py
  if (status == kBadRun) return {"", "no page was drawn: see above", true};
  if (status != 0) return {"", "the report maker ended with " + std::to_string(status)};
  return {file, ""};
}

std::string drawn_or_told(const std::string& data, const std::string& file) {
  const Drawn drawn = draw_report(data, file);
  return drawn.file.empty() ? "not drawn: " + drawn.reason : drawn.file;
}

}  // namespace headrace::cli
