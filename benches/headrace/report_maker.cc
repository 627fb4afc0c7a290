// Starting the report maker.
#include "benches/headrace/report_maker.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "harness/system/installation.h"

extern char** environ;

namespace headrace::cli {
namespace {

/// Runs a program with standard output sent to standard error; its exit status, or -1 when it could
/// not start.
int run_program(const std::vector<std::string>& arguments, const std::string& python_path) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  std::vector<std::string> settings;
  for (char** e = environ; *e != nullptr; ++e) {
    if (std::strncmp(*e, "PYTHONPATH=", 11) != 0) settings.emplace_back(*e);
  }
  settings.push_back("PYTHONPATH=" + python_path);
  settings.emplace_back("PYTHONDONTWRITEBYTECODE=1");
  std::vector<char*> envp;
  for (std::string& s : settings) envp.push_back(s.data());
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

Drawn draw_report(const std::string& data, const std::string& file) {
  const std::string& reports = system::installation().reports;
  if (reports.empty()) return {"", "this copy of headrace has no report maker beside it"};
  const system::ReportPython python = system::find_report_python();
  if (python.executable.empty()) {
    return {"", "no Python that can draw it (" + python.reason +
                    "); install python3-matplotlib and python3-jinja2, then: headrace report " +
                    std::filesystem::path(data).parent_path().string()};
  }
  const int status =
      run_program({python.executable, "-m", "headrace_report", data, "-o", file}, reports);
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
