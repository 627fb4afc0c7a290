#include "harness/agents/own_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/agents/child.h"
#include "harness/agents/placed.h"
#include "harness/agents/scratch.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/file_text.h"
#include "harness/files/marked_folder.h"
#include "harness/results/skip_members.h"
#include "harness/results/stored_verdict.h"
#include "harness/system/installation.h"

namespace headrace::agents {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kLongest = 900 << 10;  // of what a collector takes in one line
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

/// Throws RunError where this process cannot start it.
std::vector<std::string> mpirun(const std::vector<std::string>& hosts) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr)
    throw RunError("this agent was started by mpirun, which starts no other below it");
  return {"mpirun",   "--host", join(hosts, ","), "-n",  std::to_string(hosts.size()),
          "--map-by", "node",   "--bind-to",      "none"};
}

}  // namespace

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
  if (together && ended.code == 127) throw RunError("mpirun is not there");
  if (!fs::exists(folder.path("run") + "/run.json"))
    throw RunError(fmt::format("{}{}{}",
                               ended.late ? fmt::format("no result within {:.0f} s", wanted.most_s)
                                          : fmt::format("the run ended with {}", ended.code),
                               ended.words.empty() ? "" : ": ", ended.words));
  std::string text = results::skip_members(file_text(folder.path("run") + "/run.json"), kSkipped);
  if (text.size() > kLongest) throw RunError("its run file is too long to be told");
  return text;
}

std::string clean_after(const RunWanted& wanted) { return remove_scratch(scratch_of(wanted)); }

}  // namespace headrace::agents
