// This machine as a workload sees it: backends, the scratch folder, memory, cores.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

namespace files {
class Folder;
}
namespace objects {
class Scratch;
}
class Backends;
class MarkedFolder;
class Peer;
class Ranks;

/// Folders of ranks in the scratch folder: "rank-00003".
inline constexpr const char* kRankFolder = "rank-";
/// The kind of the mark in both.
inline constexpr const char* kScratchKind = "scratch";

class Node {
 public:
  /// `scratch` is made on first use, not here: describing and planning write nothing.
  explicit Node(std::string scratch_path);
  ~Node();

  Backends& backends() { return *backends_; }
  /// The marked folder below which data is made; made now if it is not there. Throws UsageError if
  /// it is not ours.
  const std::string& scratch();
  /// The same, kept open: new entries are made through its descriptor, and no other process removes it in the meantime.
  /// Throws RunError when something else has its place by now.
  const files::Folder& scratch_folder();
  /// For files that only this process writes. The same, or an own folder below it for each process after the first.
  const files::Folder& own_scratch();
  const std::string& scratch_path() const { return scratch_path_; }
  /// Where that is a prefix of an object store: marked, if it was not yet. Making files throws Unsupported then.
  bool makes_objects() const;
  objects::Scratch& object_scratch();
  /// Whichever of the two it is: made now if it is not there. Throws as they do.
  void make_scratch();

  /// Most bytes that generated data may take in all; 0 = as much as is free. Set once, before the
  /// first workload.
  void limit_writes(std::uint64_t bytes) { max_write_ = bytes; }
  /// Adds `bytes` of generated data to that limit's use, those of one `id` only once. Throws RunError, which names the
  /// limit, when it is passed.
  void reserve_writes(const std::string& id, std::uint64_t bytes);

  /// Making data may take this long from now on [s], over all sets. When it is used up, a set with a file stays as
  /// short as it is. Nothing: as long as it takes.
  void limit_making(std::optional<double> seconds) { making_left_s_ = seconds; }
  std::optional<double> making_left() const { return making_left_s_; }
  /// Adds `seconds` of making data to that limit's use.
  void spend_making(double seconds);

  /// The processes that run this plan together with this one; this one alone where nothing launched more.
  Ranks& ranks() { return *ranks_; }
  /// Makes this process one of several: once, before the first workload.
  void join(std::shared_ptr<Ranks> ranks);
  /// The one other process that `--peer` names, or that this one serves; nullptr: none.
  Peer* peer() { return peer_.get(); }
  void meet(std::shared_ptr<Peer> peer);
  /// The ranks that take part in the present point, in order, and this one's place among them. Files are split by it.
  const std::vector<unsigned>& team() const { return team_; }
  unsigned team_index() const { return team_index_; }
  /// The engine's, before each point. This rank may not be among them; then its index is team().size().
  void set_team(std::vector<unsigned> ranks);

  unsigned cores() const;                                    // usable by this process: affinity and cgroup quota
  std::uint64_t memory_total() const;                        // of the machine [B]; 0 = not reported
  std::uint64_t memory_available() const;                    // MemAvailable, or the cgroup's rest if that is less [B]
  std::uint64_t free_inodes(const std::string& path) const;  // inodes; the largest number where none is reported
  std::uint64_t free_bytes(
      const std::string& path) const;  // statvfs; nearest existing parent; of an object store more than any use
  bool is_root() const;

 private:
  std::string scratch_path_;
  std::unique_ptr<MarkedFolder> scratch_, own_scratch_;
  std::uint64_t max_write_ = 0;
  std::map<std::string, std::uint64_t> reserved_;
  std::optional<double> making_left_s_;
  std::unique_ptr<Backends> backends_;
  std::unique_ptr<objects::Scratch> object_scratch_;  // goes before the backends do
  std::shared_ptr<Ranks> ranks_;
  std::shared_ptr<Peer> peer_;
  std::vector<unsigned> team_{0};
  unsigned team_index_ = 0;
};

}  // namespace headrace
