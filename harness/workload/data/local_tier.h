// A cache tier on a device of this node: copies of a data set's files, in a marked folder.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/base/files/marked_folder.h"
#include "harness/record/file_table.h"

namespace headrace {

/// Locked by one process at a time. Its content stays until clear(): nothing is evicted (formula C5). Its files are
/// removed with it.
class LocalTier {
 public:
  /// Makes `path` or takes the existing scratch folder, and the tier's folder in it. Removes the rest of a killed run.
  /// Throws RunError that names the obstacle.
  LocalTier(const std::string& path, const FileTable& source);
  ~LocalTier();
  LocalTier(const LocalTier&) = delete;
  /// Before data is made for it: may there be a tier in `path`? Throws RunError as the constructor does.
  static void require_usable(const std::string& path);
  LocalTier& operator=(const LocalTier&) = delete;

  /// The copies: numbers and sizes are the source's. A reader may open those that exist.
  const FileTable& files() const { return files_; }
  /// Free on its device, for users other than root [B].
  std::uint64_t free_bytes() const;

  /// Untimed: removes every copy; from now on it holds `capacity` bytes at most. Throws RunError.
  void clear(std::uint64_t capacity);
  /// Untimed: every copy is on its device, and none in the page cache as far as it lets go. Throws RunError.
  void settle() const;

  bool holds(std::uint32_t file) const noexcept { return held_[file].load(std::memory_order_acquire) != 0; }
  enum class Kept : std::uint8_t { yes, full, failed };
  /// On one of several threads, each file once: writes a copy and closes it. It is not synced, as such tiers do not.
  /// failed: errno has the reason, and nothing of it stays.
  Kept keep(std::uint32_t file, std::span<const unsigned char> bytes) noexcept;
  std::uint64_t held_bytes() const noexcept { return used_.load(); }

 private:
  bool reserve(std::uint64_t bytes) noexcept;

  MarkedFolder scratch_, marked_;
  FileTable files_;
  std::unique_ptr<std::atomic<unsigned char>[]> held_;
  std::uint64_t capacity_ = 0;
  std::atomic<std::uint64_t> used_{0};
};

/// Removes the provable files of a killed run's tier in `scratch`, unless a living one has locked it.
CleanReport remove_left_over_tier(const files::Folder& scratch);

}  // namespace headrace
