// Files for a replay, as large as those of the trace: made in a folder of headrace's own, and removed again.
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

/// Removes what a replay made in its folder, by what the files begin with, saves by their blocks, then the mark and the folder. Nothing where another
/// process has it.
CleanReport remove_laid(const MarkedFolder& folder);

class LaidFiles {
 public:
  /// Makes them flat in `folder`, which must not be there, or be empty, or be left by an earlier replay. Bytes do not
  /// compress, and lie on disk then. Throws UsageError where they would be more than `most` bytes, RunError where the storage
  /// fails, or `stop`, which is asked before each MiB, comes true; what was made is removed then.
  LaidFiles(const Plan& plan, const std::string& folder, std::uint64_t most, const std::function<bool()>& stop);
  /// Removes what is proven to be headrace's; "", or what was left and why.
  std::string remove();
  ~LaidFiles();
  LaidFiles(const LaidFiles&) = delete;
  LaidFiles& operator=(const LaidFiles&) = delete;

  /// Of each file of the plan.
  const std::vector<std::string>& paths() const { return paths_; }
  /// Where what the trace wrote is written again; nullptr: it wrote nothing that is.
  const checkpoint::Folder* saves() const { return saves_ ? &*saves_ : nullptr; }

 private:
  MarkedFolder folder_;
  std::optional<checkpoint::Folder> saves_;
  std::vector<std::string> paths_;
  bool removed_ = false;
};

/// Of each file of the plan, where it lies below `folder` as it lay below the trace's. Throws UsageError, which names the first
/// that is missing or too short.
std::vector<std::string> files_below(const Plan& plan, const std::string& folder);

}  // namespace headrace::observe::replay
