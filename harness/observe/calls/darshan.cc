#include "harness/observe/calls/darshan.h"

#include <fmt/format.h>

#include <filesystem>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/system/installation.h"
#include "harness/base/system/report_python.h"
#include "harness/observe/calls/dftracer.h"

namespace headrace::observe::calls {

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

}  // namespace headrace::observe::calls
