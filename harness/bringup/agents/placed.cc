#include "harness/bringup/agents/placed.h"

#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/bringup/agents/scratch.h"

namespace headrace::agents {
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
