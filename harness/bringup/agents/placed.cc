#include "harness/bringup/agents/placed.h"

#include <filesystem>

#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/system/installation.h"
#include "harness/bringup/agents/child.h"

namespace headrace::agents {

namespace {

constexpr double kClean_s = 120;

}  // namespace

std::string remove_scratch(const std::string& folder) {
  if (!std::filesystem::exists(folder)) return "";
  const Ended ended = run_child({system::installation().binary, "clean", folder}, kNobody, kClean_s);
  return std::filesystem::exists(folder) ? folder + (ended.words.empty() ? "" : ": " + ended.words) : "";
}

namespace {

/// Hosts that share the folder write the same at the same time.
void put(const MarkedFolder& folder, const std::string& name, const std::string& text) {
  const auto stands = [&] { return folder.folder().read(name, text.size() + 1) == text; };
  if (text.empty() || stands()) return;
  try {
    folder.write(name, text);
  } catch (const RunError&) {
    if (!stands()) throw;
  }
}

}  // namespace

void place(const Placed& files) {
  const MarkedFolder folder = MarkedFolder::make_private(files.folder, kFolderKind);
  put(folder, kConfigFile, files.config);
  put(folder, kJobFile, files.job);
}

void take_away(const Placed& files) {
  remove_scratch(files.folder + "/" + kScratch);
  remove_marked(files.folder);
}

}  // namespace headrace::agents
