#include "harness/observe/calls/read.h"

#include <filesystem>

#include "harness/base/diagnostics.h"
#include "harness/observe/calls/darshan.h"
#include "harness/observe/calls/dftracer.h"
#include "harness/observe/calls/lines.h"
#include "harness/observe/calls/strace.h"

namespace headrace::observe::calls {
namespace {

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
