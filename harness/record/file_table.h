// The list of files that a workload reads, made for the hot path.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace {

/// One root descriptor, one block of characters for all relative paths, one array of where they begin and of sizes. No
/// per-file string.
class FileTable {
 public:
  FileTable() = default;
  FileTable(int root_fd, std::string root);  // takes over the descriptor
  ~FileTable();
  FileTable(FileTable&&) noexcept;
  FileTable& operator=(FileTable&&) noexcept;
  FileTable(const FileTable&) = delete;

  /// `version`: of an object, changes when another takes its place; 0 = unknown.
  void add(std::string_view relative_path, std::uint64_t size, std::uint64_t version = 0);
  /// A file that a symbolic link leads to, or one in a folder that one leads to. `target`: its absolute path, without links.
  void add_linked(std::string_view relative_path, std::string_view target, std::uint64_t size);
  /// Forgets the entries that `keeps` refuses.
  void keep_only(const std::function<bool(std::uint32_t file)>& keeps);

  /// The entries are objects of a store, by their keys below root(); there is no descriptor.
  void set_objects() noexcept { holds_objects_ = true; }
  void set_root(std::string root) { root_ = std::move(root); }
  bool holds_objects() const noexcept { return holds_objects_; }

  /// The one entry is a block device.
  void set_device() noexcept { is_device_ = true; }
  bool is_device() const noexcept { return is_device_; }
  /// A path on the device that holds the data: the files' folder, or the device itself.
  std::string place() const { return is_device_ ? full_path(0) : root_; }

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(entries_.size()); }
  /// The path that opens it below root_fd(), zero-terminated: relative to that, or a link's target.
  const char* path(std::uint32_t file) const noexcept { return names_.data() + entries_[file].name; }
  /// Its path below the root, or key, as the user gave it: of a link its own name.
  std::string_view name(std::uint32_t file) const noexcept {
    const std::string_view opened = path(file);
    return is_linked(opened) ? std::string_view(opened.data() + opened.size() + 1) : opened;
  }
  /// "root/name", for messages.
  std::string full_path(std::uint32_t file) const {
    std::string full = root_ + "/";
    full += name(file);
    return full;
  }
  std::uint64_t size(std::uint32_t file) const noexcept { return entries_[file].size; }
  std::uint64_t version(std::uint32_t file) const noexcept { return file < versions_.size() ? versions_[file] : 0; }
  std::uint64_t total_bytes() const noexcept { return total_; }
  std::uint64_t largest() const noexcept { return largest_; }
  /// Prefetches the entry of `later`, and the path of `next`, whose entry was prefetched before. In random order they
  /// left the processor's caches long ago, and a reader would wait for them between two files.
  void prefetch(std::uint32_t next, std::uint32_t later) const noexcept {
    __builtin_prefetch(&entries_[later]);
    __builtin_prefetch(path(next));
  }
  int root_fd() const noexcept { return root_fd_; }
  const std::string& root() const noexcept { return root_; }

 private:
  struct Entry {
    std::uint64_t name;  // in names_; of a link its target, and behind it its own name
    std::uint64_t size;
  };
  bool is_linked(std::string_view opened) const noexcept { return !holds_objects_ && opened.starts_with('/'); }

  int root_fd_ = -1;
  bool is_device_ = false, holds_objects_ = false;
  std::string root_;
  std::vector<char> names_;
  std::vector<Entry> entries_;
  std::vector<std::uint64_t> versions_;  // of objects alone
  std::uint64_t total_ = 0, largest_ = 0;
};

}  // namespace headrace
