#include "harness/base/system/report_python.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "harness/base/system/spawn.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::system {
namespace {

constexpr std::array kUsualPlaces{"/usr/bin/python3", "/usr/local/bin/python3"};
// matplotlib looks in the current directory for its settings first, and starts fc-list from PATH.
constexpr std::array<std::string_view, 3> kUnheeded{"MATPLOTLIBRC=", "MPLBACKEND=", "PATH="};
constexpr const char* kPath = "PATH=/usr/bin:/bin";

std::vector<std::string> environment() {
  std::vector<std::string> kept{kPath};
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view setting(*e);
    if (std::none_of(kUnheeded.begin(), kUnheeded.end(),
                     [&](std::string_view name) { return setting.starts_with(name); }))
      kept.emplace_back(setting);
  }
  return kept;
}

void read_all(int fd, std::string& written) {
  char block[1 << 16];
  for (ssize_t got; (got = ::read(fd, block, sizeof block)) != 0;) {
    if (got > 0) written.append(block, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return;
  }
}

/// Exit status of `python -I -B ARGUMENTS` in `folder`; -1 when there is none. Its output is added to `written`, its
/// errors go to standard error; without `written`, both are dropped.
int run_isolated(const std::string& python, const std::vector<std::string>& arguments, const std::string& folder,
                 std::string* written) {
  int ends[2] = {-1, -1};
  if (written != nullptr && ::pipe2(ends, O_CLOEXEC) != 0) return -1;
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  // Elsewhere than here: a settings file of matplotlib in the current folder would count.
  std::vector<std::string> words{"/usr/bin/env", "-C", folder, python, "-I", "-B"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const int nothing = written == nullptr ? kNoStream : kSameStream;
  pid_t pid = 0;
  if (spawn({.words = std::move(words),
             .environment = environment(),
             .in = nothing,
             .out = written == nullptr ? kNoStream : writing.get(),
             .errors = nothing},
            pid) != 0)
    return -1;
  writing = UniqueFd();
  if (written != nullptr) read_all(reading.get(), *written);
  const int status = wait_for_end(pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Why it cannot be used; "" when it has these modules.
std::string unusable(const std::string& python, const std::vector<std::string>& modules) {
  if (!python.starts_with('/')) return "is not the whole path of a Python";
  // find_spec looks without importing: matplotlib itself takes half a second to load.
  std::string names, words;
  for (const std::string& module : modules) {
    names += "'" + module + "',";
    words += (words.empty() ? "" : " or ") + module;
  }
  const std::string code =
      "import sys, importlib.util as u; "
      "sys.exit(3 if sys.version_info < (3, 9) else 0 if all(u.find_spec(m) for m in [" +
      names + "]) else 4)";
  switch (run_isolated(python, {"-c", code}, "/", nullptr)) {
    case 0:
      return "";
    case 3:
      return "is older than 3.9";
    case 4:
      return "lacks " + words;
    default:
      return "cannot be started";
  }
}

}  // namespace

ReportPython find_report_python() { return find_python({"matplotlib", "jinja2"}); }

ReportPython find_python(const std::vector<std::string>& modules) {
  std::vector<std::string> candidates(kUsualPlaces.begin(), kUsualPlaces.end());
  if (const char* chosen = std::getenv("HEADRACE_PYTHON"); chosen && *chosen) candidates = {chosen};
  ReportPython result;
  for (const std::string& candidate : candidates) {
    const std::string why = unusable(candidate, modules);
    if (why.empty()) return {candidate, ""};
    result.reason += (result.reason.empty() ? "" : "; ") + candidate + " " + why;
  }
  return result;
}

int run_report_maker(const ReportPython& python, const std::string& reports, const std::vector<std::string>& arguments,
                     std::string& written) {
  std::vector<std::string> words{reports};  // a folder with a __main__.py: Python runs that
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_isolated(python.executable, words, reports, &written);
}

}  // namespace headrace::system
