#include "harness/system/installation.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace headrace::system {
namespace {

namespace fs = std::filesystem;

std::string folder_or_nothing(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? path.string() : std::string();
}

Installation look_around() {
  Installation found;
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  if (error) return found;
  found.binary = binary.string();
  const auto take = [&](const fs::path& root) {
    found.configs = folder_or_nothing(root / "configs");
    found.reports = folder_or_nothing(root / "reports");
    found.docs = folder_or_nothing(root / "docs");
    return !found.configs.empty();
  };
  const fs::path prefix = binary.parent_path().parent_path();
  found.installed = take(prefix / "share" / "headrace");
  // Build folders are SOURCE/build/PRESET; test programs are one level further down.
  for (fs::path root = prefix; !found.installed && root != root.root_path();
       root = root.parent_path())
    if (fs::exists(root / "harness", error) && take(root)) break;
  return found;
}

/// Exit status of `python -c code`, silent; -1 when it cannot be started.
int run_python(const std::string& python, const std::string& code) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  std::vector<std::string> words{python, "-c", code};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, python.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace

const Installation& installation() {
  static const Installation found = look_around();
  return found;
}

std::string find_shipped(const std::string& path) {
  std::error_code error;
  const fs::path given(path);
  if (fs::exists(given, error) || given.is_absolute() || installation().configs.empty())
    return path;
  const fs::path shipped = fs::path(installation().configs).parent_path() / given;
  return fs::exists(shipped, error) ? shipped.string() : path;
}

ReportPython find_report_python() {
  // find_spec looks without importing: matplotlib itself takes half a second to load.
  const std::string code =
      "import sys, importlib.util as u; "
      "sys.exit(3 if sys.version_info < (3, 9) else 0 if u.find_spec('matplotlib') and "
      "u.find_spec('jinja2') else 4)";
  std::vector<std::string> candidates;
  if (const char* chosen = std::getenv("HEADRACE_PYTHON"); chosen && *chosen) {
    candidates = {chosen};
  } else {
    candidates = {"python3", "/usr/bin/python3"};
  }
  ReportPython result;
  for (const std::string& candidate : candidates) {
    const int status = run_python(candidate, code);
    if (status == 0) return {candidate, ""};
    const char* why = status == 3   ? "older than 3.9"
                      : status == 4 ? "lacks matplotlib or jinja2"
                                    : "cannot be started";
    result.reason += (result.reason.empty() ? "" : "; ") + candidate + " " + why;
  }
  return result;
}

}  // namespace headrace::system
