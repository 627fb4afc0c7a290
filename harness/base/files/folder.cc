#include "harness/base/files/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "harness/base/error.h"
#include "harness/base/system/list_names.h"
#include "harness/base/system/token.h"

namespace headrace::files {
namespace {

constexpr std::string_view kAsidePrefix = ".headrace.", kAsideSuffix = ".new";

/// ".headrace.0123456789abcdef.new": no two writers share one.
std::string aside_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) throw system_error("draw", "a random number", errno);
  return fmt::format("{}{:016x}{}", kAsidePrefix, number, kAsideSuffix);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// 0 or an errno: EEXIST where something has the new name, ENOENT where `from` is gone.
int rename_new(int folder, const char* from, const char* to) noexcept {
  if (::renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return errno;  // NFS, old kernels
  if (::linkat(folder, from, folder, to, 0) == 0) return ::unlinkat(folder, from, 0) == 0 ? 0 : errno;
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return errno;  // no hard links there either
  struct stat there;
  if (::fstatat(folder, to, &there, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return ::renameat(folder, from, folder, to) == 0 ? 0 : errno;
}

bool take_mark_off(int file) noexcept {
  struct stat status;
  return ::fstat(file, &status) == 0 && ::fchmod(file, status.st_mode & 07777 & ~kMakersMark) == 0;
}

bool lock(int fd, int how) noexcept { return ::flock(fd, how | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

}  // namespace

Folder Folder::at(const std::string& path) noexcept {
  return {UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)), path};
}

Folder Folder::inner(const std::string& name) const noexcept {
  return {UniqueFd(open_beneath(fd(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)), path_of(name)};
}

Folder Folder::again() const { return {UniqueFd(::fcntl(fd(), F_DUPFD_CLOEXEC, 0)), path_}; }

struct stat Folder::status() const {
  struct stat status;
  if (::fstat(fd(), &status) != 0) throw system_error("look at", path_, errno);
  return status;
}

std::vector<std::string> Folder::entries() const {
  std::vector<std::string> names;
  if (const int code = system::list_names(fd(), ".", names)) throw system_error("list", path_, code);
  return names;
}

std::optional<struct stat> Folder::look(const std::string& name) const {
  struct stat status;
  if (::fstatat(fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return status;
  if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG) return std::nullopt;
  throw system_error("look at", path_of(name), errno);
}

std::string Folder::read(const std::string& name, std::size_t most) const {
  const auto known = look(name);
  if (!known || !S_ISREG(known->st_mode)) return "";
  const UniqueFd file(open_beneath(fd(), name.c_str(), O_RDONLY | O_NONBLOCK));
  const bool gone = !file && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);  // or a link is there now
  if (!file && !gone) throw system_error("open", path_of(name), errno);
  struct stat status;
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  std::string text(std::min<std::size_t>(most, static_cast<std::size_t>(status.st_size)), '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = ::read(file.get(), text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("read", path_of(name), errno);
    if (n == 0) break;
    at += static_cast<std::size_t>(n);
  }
  text.resize(at);
  return text;
}

bool Folder::in_place() const noexcept {
  struct stat there, here;
  return ::lstat(path_.c_str(), &there) == 0 && ::fstat(fd(), &here) == 0 && same(there, here);
}

void Folder::require_in_place() const {
  if (in_place()) return;
  struct stat there;
  const char* now = ::lstat(path_.c_str(), &there) != 0 ? "is gone"
                    : S_ISLNK(there.st_mode)            ? "is a symbolic link now"
                    : S_ISDIR(there.st_mode)            ? "is another folder now"
                                                        : "is no folder any more";
  throw RunError(path_ + ": " + now + ": it was taken away while headrace used it");
}

bool Folder::lock_shared() const noexcept { return lock(fd(), LOCK_SH); }
bool Folder::lock_alone() const noexcept { return lock(fd(), LOCK_EX); }

Folder Folder::make(const std::string& name) const {
  if (::mkdirat(fd(), name.c_str(), kFolderMode) != 0 && errno != EEXIST)
    throw system_error("create folder", path_of(name), errno);
  Folder made = inner(name);
  if (made) return made;
  const int code = errno;
  if (const auto found = look(name); found && !S_ISDIR(found->st_mode))
    throw RunError("create folder " + path_of(name) + ": something else is in the way");
  throw system_error("open folder", path_of(name), code);
}

UniqueFd Folder::create(const char* name, int flags) const noexcept {
  return UniqueFd(::openat(fd(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | flags, kFileMode));
}

UniqueFd Folder::create_nameless(mode_t mode) const {
  UniqueFd file(::openat(fd(), ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode));
  if (file) return file;  // NFS, FUSE and old kernels cannot
  const std::string name = aside_name();
  file = UniqueFd(::openat(fd(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (file) ::unlinkat(fd(), name.c_str(), 0);
  return file;
}

UniqueFd Folder::open_made(const char* name, int flags) const noexcept {
  UniqueFd file(::openat(fd(), name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags));
  struct stat status;
  if (file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && bears_mark(status) &&
      status.st_nlink == 1)
    return file;
  if (file || errno == ELOOP || errno == ENXIO) errno = EEXIST;
  return {};
}

std::string Folder::write_aside(const std::string& name, std::string_view text) const {
  std::string aside = aside_name();
  const UniqueFd file = create(aside.c_str());
  if (!file) throw system_error("create", path_of(name), errno);
  if (write_all(file.get(), text) && ::fsync(file.get()) == 0) return aside;
  const int code = errno;
  ::unlinkat(fd(), aside.c_str(), 0);
  throw system_error("write", path_of(name), code);
}

void Folder::put(const std::string& name, std::string_view text) const {
  const std::string aside = write_aside(name, text);
  if (::renameat(fd(), aside.c_str(), fd(), name.c_str()) != 0) {
    const int code = errno;
    ::unlinkat(fd(), aside.c_str(), 0);
    throw system_error("write", path_of(name), code);
  }
  sync();  // the name itself; some network file systems cannot and need not
}

bool Folder::put_new(const std::string& name, std::string_view text) const {
  const std::string aside = write_aside(name, text);
  const int code = rename_new(fd(), aside.c_str(), name.c_str());
  if (code != 0) ::unlinkat(fd(), aside.c_str(), 0);
  // ENOENT: the process that has locked the folder removed the temporary file.
  if (code != 0 && code != EEXIST && code != ENOENT) throw system_error("write", path_of(name), code);
  if (code == 0) sync();
  return code == 0;
}

bool Folder::rename(const char* from, const char* to) const noexcept { return ::renameat(fd(), from, fd(), to) == 0; }

bool Folder::publish(const char* from, const char* to, int file) const noexcept {
  if (const int code = rename_new(fd(), from, to)) {
    errno = code;
    return false;
  }
  if (!take_mark_off(file)) return false;
  sync();  // some network file systems cannot and need not
  return true;
}

void Folder::hand_over(const std::string& name) const {
  const UniqueFd file(open_beneath(fd(), name.c_str(), O_RDONLY | O_NONBLOCK));
  if (!file || !take_mark_off(file.get())) throw system_error("change the mode of", path_of(name), errno);
}

bool Folder::remove(const std::string& name, const struct stat& proven) const {
  const auto now = look(name);
  if (!now || !same(*now, proven)) return false;
  if (::unlinkat(fd(), name.c_str(), 0) == 0) return true;
  if (errno == ENOENT) return false;
  throw system_error("remove", path_of(name), errno);
}

bool Folder::remove_folder(const std::string& name) const {
  const auto found = look(name);
  if (!found || !S_ISDIR(found->st_mode) || !bears_mark(*found)) return false;
  if (::unlinkat(fd(), name.c_str(), AT_REMOVEDIR) == 0) return true;
  if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOENT || errno == EBUSY) return false;
  throw system_error("remove folder", path_of(name), errno);
}

bool Folder::remove_itself() const {
  const std::filesystem::path whole(path_);
  const std::string name = whole.filename().string();
  const Folder parent(UniqueFd(::open(whole.parent_path().empty() ? "." : whole.parent_path().c_str(),
                                      O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                      whole.parent_path().string());
  if (!parent) throw system_error("remove folder", path_, errno);
  const auto found = parent.look(name);
  if (!found || !same(*found, status())) return false;
  // EBUSY: a mount point, which stays as an empty folder.
  if (::unlinkat(parent.fd(), name.c_str(), AT_REMOVEDIR) == 0 || errno == EBUSY) return true;
  if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOENT) return false;
  throw system_error("remove folder", path_, errno);
}

bool Folder::is_aside(const std::string& name) const {
  if (name.size() != kAsidePrefix.size() + 16 + kAsideSuffix.size() || !name.starts_with(kAsidePrefix) ||
      !name.ends_with(kAsideSuffix))
    return false;
  const auto found = look(name);
  return found && S_ISREG(found->st_mode) && bears_mark(*found);
}

bool Folder::sync() const noexcept { return ::fsync(fd()) == 0; }

bool is_kept_open(std::string_view name) noexcept {
  const auto is = [name](std::string_view prefix, std::size_t digits) {
    return name.size() == prefix.size() + digits && name.starts_with(prefix) &&
           name.find_first_not_of("0123456789abcdef", prefix.size()) == name.npos;
  };
  return is(".nfs", 24) || is(".fuse_hidden", 16);
}

std::string random_name(const std::string& prefix) {
  std::string name = prefix + "-";
  for (const char byte : system::new_token()) name += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return name;
}

void make_parents(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) throw system_error("create folder", path, failed.value());
}

}  // namespace headrace::files
