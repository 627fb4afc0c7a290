// Files for a replay, as large as those of the trace, made in headrace's own folder and removed again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/files/marked_folder.h"
#include "harness/observe/replay/plan.h"
#include "harness/workload/data/checkpoint/folder.h"

namespace headrace::observe::replay {

inline constexpr std::string_view kReplayKind = "replay";

/// Removes a replay's files in its folder, then the mark and the folder. Their begin proves files, their blocks prove
/// saves. Nothing where another process has it.
CleanReport remove_laid(const MarkedFolder& folder);

class LaidFiles {
 public:
  /// Makes them flat in `folder`, which must be absent, or empty, or left by an earlier replay. Bytes do not compress,
  /// and are on disk afterwards. Throws UsageError where they would be more than `most` bytes. Throws RunError where
  /// the storage fails, or `stop`, asked before each MiB, is true. The new files are removed then.
  LaidFiles(const Plan& plan, const std::string& folder, std::uint64_t most, const std::function<bool()>& stop);
  /// Removes the files that are provably headrace's; "", or the remaining ones and why.
  std::string remove();
  ~LaidFiles();
  LaidFiles(const LaidFiles&) = delete;
  LaidFiles& operator=(const LaidFiles&) = delete;

  /// The path of each file of the plan.
  const std::vector<std::string>& paths() const { return paths_; }
  /// The folder in which the trace's writes are repeated; nullptr: there are none.
  const checkpoint::Folder* saves() const { return saves_ ? &*saves_ : nullptr; }

 private:
  MarkedFolder folder_;
  std::optional<checkpoint::Folder> saves_;
  std::vector<std::string> paths_;
  bool removed_ = false;
};

/// The path of each file of the plan, below `folder` as it was below the trace's. Throws UsageError, which names the
/// first that is missing or too short.
std::vector<std::string> files_below(const Plan& plan, const std::string& folder);

}  // namespace headrace::observe::replay
