#include "harness/bringup/agents/own_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "harness/backends/loader.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/file_text.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/system/installation.h"
#include "harness/bringup/agents/child.h"
#include "harness/bringup/agents/placed.h"
#include "harness/results/skip_members.h"
#include "harness/results/stored_verdict.h"

namespace headrace::agents {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kLongest = 900 << 10;  // of the longest line that a collector takes
/// Most of a run file; nothing that is compared.
constexpr std::string_view kSkipped[] = {"phases", "resolved", "series", "resident", "worker_finish_s", "worker_bytes"};

/// A folder for the time of one run.
class OwnFolder {
 public:
  OwnFolder()
      : folder_(MarkedFolder::make_private((fs::temp_directory_path() / files::random_name("headrace-agent")).string(),
                                           kFolderKind)) {}
  ~OwnFolder() {
    try {
      remove_marked(path("run"));
      remove_scratch(path(kScratch));
      folder_.remove();
    } catch (const std::exception&) {  // it stays, and is marked
    }
  }
  OwnFolder(const OwnFolder&) = delete;

  std::string path(const char* name) const { return folder_.folder().path_of(name); }
  std::string put(const char* name, const std::string& text) const {
    folder_.write(name, text);
    return path(name);
  }

 private:
  const MarkedFolder folder_;
};

/// Where its data is made. Throws RunError where the storage is not there: a folder made in its place would be measured
/// instead of it.
std::string scratch_of(const RunWanted& wanted) {
  if (wanted.folder.empty() || wanted.folder.find('/') != std::string::npos || wanted.folder.front() == '.')
    throw RunError("no name of a folder: " + wanted.folder);
  if (!fs::is_directory(wanted.at)) throw RunError(wanted.at + " is no folder here");
  return wanted.at + "/" + wanted.folder;
}

/// Is there a program of this name in PATH?
bool is_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  return false;
}

std::vector<std::string> mpirun(const std::vector<std::string>& hosts) {
  std::vector<std::string> command{"mpirun",   "--host", join(hosts, ","), "-n",  std::to_string(hosts.size()),
                                   "--map-by", "node",   "--bind-to",      "none"};
  // The user chose to be root when the agents were started; mpirun would refuse it.
  if (::geteuid() == 0) command.emplace_back("--allow-run-as-root");
  return command;
}

/// Why a run left no run file.
std::string why_none(const Ended& ended, double most_s) {
  if (ended.late)
    return fmt::format("no result within {:.0f} s{}{}", most_s, ended.words.empty() ? "" : ": ", ended.words);
  return ended.words.empty() ? fmt::format("the run ended with exit code {}", ended.code)
                             : fmt::format("{} (exit code {})", ended.words, ended.code);
}

}  // namespace

std::string why_not_together(const Backends& backends) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr)
    return "the launcher is mpirun, which starts no other mpirun below it: start the agents by ssh or srun";
  if (!is_program("mpirun")) return "there is no mpirun in PATH: install Open MPI (Debian: apt install openmpi-bin)";
  return backends.why_not(Gives::messages);
}

Json run_json(const RunWanted& wanted) {
  return {{"config", wanted.config}, {"job", wanted.job},       {"at", wanted.at},     {"folder", wanted.folder},
          {"hosts", wanted.hosts},   {"placed", wanted.placed}, {"only", wanted.only}, {"looks", wanted.looks},
          {"budget", wanted.budget}, {"most_s", wanted.most_s}};
}

RunWanted run_from(const Json& json) {
  RunWanted wanted;
  wanted.config = json.value("config", "");
  wanted.job = json.value("job", "");
  wanted.at = json.value("at", "");
  wanted.folder = json.value("folder", "");
  wanted.hosts = json.value("hosts", wanted.hosts);
  wanted.placed = json.value("placed", "");
  wanted.only = json.value("only", "");
  wanted.looks = json.value("looks", "");
  wanted.budget = json.value("budget", "");
  wanted.most_s = json.value("most_s", wanted.most_s);
  return wanted;
}

std::string own_run(const RunWanted& wanted, int input) {
  const bool together = !wanted.hosts.empty();
  const std::string scratch = wanted.at.empty() ? "" : scratch_of(wanted);
  const OwnFolder folder;
  std::vector<std::string> command = together ? mpirun(wanted.hosts) : std::vector<std::string>();
  command.insert(command.end(), {system::installation().binary, "--progress", "none", "run"});
  const auto file = [&](const char* name, const std::string& text) {
    return text.empty() ? "" : together ? wanted.placed + "/" + name : folder.put(name, text);
  };
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) command.insert(command.end(), {option, value});
  };
  add("-c", file(kConfigFile, wanted.config));
  add("--job", file(kJobFile, wanted.job));
  add("--at", !scratch.empty() ? scratch : together ? wanted.placed + "/" + kScratch : folder.path(kScratch));
  add("--only", wanted.only);
  add("--looks", wanted.looks);
  add("--budget", wanted.budget);
  add("--out", folder.path("run"));
  command.emplace_back("--no-report");
  const Ended ended = run_child(command, input, wanted.most_s);
  if (!fs::exists(folder.path("run") + "/run.json")) throw RunError(why_none(ended, wanted.most_s));
  std::string text = results::skip_members(file_text(folder.path("run") + "/run.json"), kSkipped);
  if (text.size() > kLongest) throw RunError("its run file is too long to be sent");
  return text;
}

std::string clean_after(const RunWanted& wanted) { return remove_scratch(scratch_of(wanted)); }

}  // namespace headrace::agents
