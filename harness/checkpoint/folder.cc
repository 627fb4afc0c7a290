#include "harness/checkpoint/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <vector>

#include "harness/backends/open_files.h"

namespace headrace::checkpoint {
namespace {

constexpr const char* kKind = "checkpoint";

std::string folder_of(const std::string& scratch) { return scratch + "/checkpoint"; }

bool is_ours(std::string_view name) {
  if (name.starts_with('.') && name.ends_with(".new")) name = name.substr(1, name.size() - 5);
  if (!name.starts_with("rank-") || !name.ends_with(".bin")) return false;
  const std::string_view number = name.substr(5, name.size() - 9);
  return number.size() >= 5 && number.find_first_not_of("0123456789") == number.npos;
}

/// Every checkpoint file, then the mark and the folder.
CleanReport remove_all(const std::string& path) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    if (std::string name = entry.path().filename(); is_ours(name)) names.push_back(std::move(name));
  }
  const std::vector<std::string_view> own(names.begin(), names.end());
  return remove_marked(path, own);
}

system::UniqueFd lock(const std::string& path) {
  system::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return fd;
}

}  // namespace

Folder::Folder(const std::string& scratch)
    : path_(MarkedFolder::make(folder_of(scratch), kKind).path()), fd_(lock(path_)) {
  if (!fd_) throw RunError(path_ + " is in use by another headrace");
}

Folder::~Folder() {
  try {
    remove_all(path_);
  } catch (const RunError&) {  // what cannot be removed stays for `clean`
  }
}

std::string Folder::name(unsigned file) { return fmt::format("rank-{:05}.bin", file); }

system::UniqueFd Folder::create(unsigned file, int flags) const {
  system::UniqueFd fd(::openat(fd_.get(), temporary_name(file).c_str(),
                               O_CREAT | O_WRONLY | O_CLOEXEC | flags, 0644));
  if (!fd) throw_open_error("create", path_ + "/" + temporary_name(file), flags & O_DIRECT, errno);
  return fd;
}

system::UniqueFd Folder::publish(unsigned file) const {
  system::UniqueFd old(::openat(fd_.get(), name(file).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (::renameat(fd_.get(), temporary_name(file).c_str(), fd_.get(), name(file).c_str()) != 0)
    throw system_error("rename to", full_path(file), errno);
  return old;
}

void Folder::sync() const {
  if (::fsync(fd_.get()) != 0) throw system_error("sync", path_, errno);
}

void Folder::remove_temporary(unsigned file) const noexcept {
  ::unlinkat(fd_.get(), temporary_name(file).c_str(), 0);
}

CleanReport remove_left_over(const std::string& scratch) {
  const std::string path = folder_of(scratch);
  if (MarkedFolder::kind_of(path) != kKind)
    return {.left = {}, .gone = !std::filesystem::exists(path)};
  if (const system::UniqueFd held = lock(path); !held)
    return {.left = {"checkpoint: in use by another headrace"}, .gone = false};
  return remove_all(path);
}

}  // namespace headrace::checkpoint
