// This machine as a workload sees it: backends, the scratch folder, memory, cores.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "harness/backends/loader.h"

namespace headrace {

/// A folder that headrace made and marked (a file `.headrace` in it). Everything is written below one of these.
class MarkedFolder {
 public:
  /// Makes `path` (parents must exist or be creatable) or takes one that is marked or empty. Throws UsageError when
  /// there is something in it that headrace did not make.
  static MarkedFolder make(const std::string& path, const std::string& kind);
  /// True when `path` holds headrace's mark.
  static bool is_marked(const std::string& path);
  /// The kind in the mark ("scratch", "run", "data-set"), or "".
  static std::string kind_of(const std::string& path);

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Node {
 public:
  /// `scratch` is made on first use, not here: describing and planning write nothing.
  explicit Node(std::string scratch_path);
  ~Node();

  Backends& backends() { return *backends_; }
  /// The marked folder below which data is made; made now if it is not there. Throws UsageError if it is not ours.
  const std::string& scratch();
  const std::string& scratch_path() const { return scratch_path_; }

  unsigned cores() const;                     // usable by this process: affinity and cgroup quota
  std::uint64_t memory_available() const;     // MemAvailable, or the cgroup's rest if that is less [B]
  std::uint64_t free_bytes(const std::string& path) const;  // statvfs; nearest existing parent
  bool is_root() const;

 private:
  std::string scratch_path_;
  std::string scratch_;
  std::unique_ptr<Backends> backends_;
};

}  // namespace headrace
