// The list of files that a workload reads.
#include "harness/record/file_table.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace headrace {

FileTable::FileTable(int root_fd, std::string root) : root_fd_(root_fd), root_(std::move(root)) {}

FileTable::~FileTable() {
  if (root_fd_ >= 0) ::close(root_fd_);
}

FileTable::FileTable(FileTable&& other) noexcept { *this = std::move(other); }

FileTable& FileTable::operator=(FileTable&& other) noexcept {
  std::swap(root_fd_, other.root_fd_);
  std::swap(root_, other.root_);
  std::swap(is_device_, other.is_device_);
  std::swap(holds_objects_, other.holds_objects_);
  std::swap(names_, other.names_);
  std::swap(entries_, other.entries_);
  std::swap(versions_, other.versions_);
  std::swap(total_, other.total_);
  std::swap(largest_, other.largest_);
  return *this;
}

void FileTable::add(std::string_view relative_path, std::uint64_t size, std::uint64_t version) {
  if (holds_objects_) versions_.push_back(version);
  entries_.push_back({names_.size(), size});
  names_.insert(names_.end(), relative_path.begin(), relative_path.end());
  names_.push_back('\0');
  total_ += size;
  largest_ = std::max(largest_, size);
}

void FileTable::add_linked(std::string_view relative_path, std::string_view target, std::uint64_t size) {
  add(target, size);
  names_.insert(names_.end(), relative_path.begin(), relative_path.end());
  names_.push_back('\0');
}

void FileTable::keep_only(const std::function<bool(std::uint32_t)>& keeps) {
  std::uint32_t kept = 0;
  total_ = largest_ = 0;
  for (std::uint32_t file = 0; file < count(); ++file) {
    if (!keeps(file)) continue;
    if (holds_objects_) versions_[kept] = versions_[file];
    entries_[kept] = entries_[file];
    total_ += entries_[kept].size;
    largest_ = std::max(largest_, entries_[kept].size);
    ++kept;
  }
  entries_.resize(kept);
  if (holds_objects_) versions_.resize(kept);
}

}  // namespace headrace
