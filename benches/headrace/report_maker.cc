// Starting the report maker.
#include "benches/headrace/report_maker.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "harness/base/error.h"
#include "harness/base/escape.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/system/installation.h"
#include "harness/base/system/report_python.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::cli {

Drawn draw_report(const std::string& data, Form form, Paper paper) {
  const system::Installation& tree = system::installation();
  if (tree.reports.empty())
    return {"", "this copy of headrace has no report maker" + (tree.why.empty() ? std::string() : ": " + tree.why)};
  if (const std::string why = system::foreign_writer_within(tree.reports); !why.empty())
    return {"", "the report maker is not run: " + why};
  const system::ReportPython python = system::find_report_python();
  if (python.executable.empty()) {
    return {"", "no Python that can draw it (" + python.reason +
                    "); install python3-matplotlib and python3-jinja2, then: headrace report " +
                    shell_word(std::filesystem::path(data).parent_path().string())};
  }
  Drawn drawn;
  std::vector<std::string> arguments{std::filesystem::absolute(data).string(), "-o", "-"};
  if (form == Form::figure) arguments.push_back("--figure");
  if (paper == Paper::full) arguments.insert(arguments.end(), {"--print", "full"});
  const int status = system::run_report_maker(python, tree.reports, arguments, drawn.page);
  constexpr int kBadRun = 2;  // reports/headrace_report/__main__.py
  if (status == 0 && !drawn.page.empty()) return drawn;
  if (status == kBadRun) return {"", "no page was drawn: see above", true};
  return {"", "the report maker ended with " + std::to_string(status)};
}

Drawn draw_text(std::string_view data, Form form) {
  // Memory that the report maker inherits, and finds by its number.
  const system::UniqueFd file(::memfd_create("headrace", 0));
  const bool written = file && ::write(file.get(), data.data(), data.size()) == static_cast<ssize_t>(data.size());
  if (!written) return {"", errno_text(errno)};
  return draw_report("/proc/self/fd/" + std::to_string(file.get()), form);
}

Drawn draw_into(const MarkedFolder& folder, const char* data) {
  Drawn drawn = draw_report(folder.folder().path_of(data));
  try {
    if (!drawn.page.empty()) folder.write("report.html", drawn.page);
  } catch (const RunError& e) {
    return {"", e.what()};
  }
  return drawn;
}

std::string drawn_or_reported(const MarkedFolder& folder, const char* data) {
  const Drawn drawn = draw_into(folder, data);
  return drawn.page.empty() ? "not drawn: " + drawn.reason : folder.folder().path_of("report.html");
}

}  // namespace headrace::cli
