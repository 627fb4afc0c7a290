#include "harness/observe/calls/read.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/system/installation.h"
#include "harness/base/system/report_python.h"
#include "harness/observe/calls/call_log.h"
#include "harness/observe/calls/dftracer.h"
#include "harness/observe/calls/lines.h"
#include "harness/observe/calls/strace.h"

namespace headrace::observe::calls {
namespace {

// Darshan's logs, by the Python package of that name.

/// Throws UsageError where the log cannot be read, RunError that names the package to install if no Python has it.
Log read_darshan(const std::string& file) {
  if (!std::filesystem::is_regular_file(file)) throw UsageError(file + ": there is no such file");
  const std::string maker = system::installation().reports + "/headrace_darshan";
  if (!std::filesystem::exists(maker + "/__main__.py"))
    throw RunError(
        "--from: reports/headrace_darshan of this installation is missing, which reads Darshan's logs; copy the whole "
        "install folder");
  if (const std::string why = system::foreign_writer_within(maker); !why.empty())
    throw RunError("--from: what reads Darshan's logs is not run: " + why);
  const system::ReportPython python = system::find_python({"darshan"});
  if (python.executable.empty())
    throw RunError(
        fmt::format("--from: reading {} takes the Python package darshan ({}); install it (pip install darshan), "
                    "and name its Python: HEADRACE_PYTHON=/path/to/python3",
                    file, python.reason));
  std::string lines;
  const int status = system::run_report_maker(python, maker, {std::filesystem::absolute(file).string()}, lines);
  if (status != 0)
    throw UsageError(fmt::format("{}: is no Darshan log that says anything of calls on files: see above", file));
  Log log = read_dftracer_text(file, lines);
  log.source = "Darshan";
  return log;
}

enum class Tool { strace, dftracer, darshan };

Tool tool_of(const std::string& path) {
  if (path.ends_with(".darshan")) return Tool::darshan;
  Lines lines(path);
  std::string_view line;
  while (lines.next(line)) {
    if (line.empty()) continue;
    return line.starts_with("{") || line == "[" ? Tool::dftracer : Tool::strace;
  }
  throw UsageError(path + ": is empty");
}

}  // namespace

Log read(const std::vector<std::string>& files) {
  const Tool tool = tool_of(files.front());
  for (const std::string& file : files)
    if (tool_of(file) != tool)
      throw UsageError("--from: " + files.front() + " and " + file + " are of different tools");
  switch (tool) {
    case Tool::dftracer:
      return read_dftracer(files);
    case Tool::darshan:
      if (files.size() > 1) throw UsageError("--from: one Darshan log at a time");
      return read_darshan(files.front());
    case Tool::strace:
      break;
  }
  return read_strace(files, std::filesystem::current_path().string());
}

}  // namespace headrace::observe::calls
