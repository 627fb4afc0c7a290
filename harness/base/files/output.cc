#include "harness/base/files/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/folder.h"
#include "harness/base/files/marked_folder.h"

namespace headrace::files {
namespace {

void write_text(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// An open file of this process, or of another, under a number.
bool names_open_file(std::string_view path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

/// An existing file stays, and gets the text.
void write_into(const std::string& path, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  if (!fd) throw system_error("open", path, errno);
  write_text(fd.get(), text, path);
}

/// A new file in `folder` that has no name yet, or, where that cannot be, `name`.
UniqueFd nameless_or(const std::string& folder, const std::string& name, mode_t mode) {
  UniqueFd fd(::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode));
  if (!fd) fd = UniqueFd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  return fd;
}

void replace(const std::string& path, std::string_view text, mode_t mode, Readers readers) {
  if (readers == Readers::owner) mode = 0600;
  const std::filesystem::path whole(path);
  const std::filesystem::path parent = whole.parent_path().empty() ? std::filesystem::path(".") : whole.parent_path();
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) throw system_error("draw", "a random number", errno);
  // Without the file's name, which may be as long as names can be.
  const std::string aside = (parent / fmt::format(".headrace.{:016x}.new", number)).string();
  const UniqueFd fd = nameless_or(parent.string(), aside, mode);
  if (!fd) throw system_error("create", path, errno);
  try {
    if (readers == Readers::owner && ::fchmod(fd.get(), mode) != 0) throw system_error("change mode", path, errno);
    write_text(fd.get(), text, path);
    if (::fsync(fd.get()) != 0) throw system_error("write", path, errno);
    const std::string open_file = fmt::format("/proc/self/fd/{}", fd.get());
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, aside.c_str(), AT_SYMLINK_FOLLOW) != 0 &&
        errno != EEXIST)  // it has that name already
      throw system_error("create", path, errno);
    if (::rename(aside.c_str(), path.c_str()) != 0) throw system_error("write", path, errno);
  } catch (const RunError&) {
    struct stat here, there;
    if (::fstat(fd.get(), &here) == 0 && ::lstat(aside.c_str(), &there) == 0 && same(here, there))
      ::unlink(aside.c_str());
    throw;
  }
}

std::string beginning(const std::string& path) {
  std::string text(4096, '\0');
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
  const ssize_t n = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

}  // namespace

void check_output(const std::string& path, const std::string& input, std::string_view sign) {
  namespace fs = std::filesystem;
  if (path == "-") throw UsageError("-: is not supported here: give a file, or /dev/stdout");
  std::error_code none;
  if (path.empty() || names_open_file(path) || (fs::exists(path, none) && !fs::is_regular_file(path, none))) return;
  if (fs::equivalent(path, input, none))
    throw UsageError(fmt::format("{}: would be replaced, and it is read: name another file", path));
  const std::string folder = fs::weakly_canonical(fs::absolute(path, none), none).parent_path().string();
  if (MarkedFolder::is_marked(folder))
    throw UsageError(fmt::format("{}: is in {}, which is headrace's own: name a file elsewhere", path, folder));
  if (!fs::exists(path, none)) return;
  if (fs::file_size(path, none) > 0 && beginning(path).find(sign) == std::string::npos)
    throw UsageError(fmt::format("{}: holds what headrace did not make: remove it or name another file", path));
}

void write_output(const std::string& given, std::string_view text, Readers readers) {
  struct stat status;
  if (::stat(given.c_str(), &status) != 0) {
    if (::lstat(given.c_str(), &status) == 0) throw RunError("write " + given + ": is a symbolic link to nothing");
    return replace(given, text, 0644, readers);
  }
  if (S_ISBLK(status.st_mode)) throw RunError("write " + given + ": is a block device; headrace never writes to one");
  if (S_ISDIR(status.st_mode)) throw system_error("write", given, EISDIR);
  if (!S_ISREG(status.st_mode) || names_open_file(given)) return write_into(given, text);
  std::error_code failed;
  const std::string real = std::filesystem::canonical(given, failed).string();
  if (failed) throw system_error("write", given, failed.value());
  replace(real, text, status.st_mode & 0777, readers);
}

GrowingOutput::GrowingOutput(const std::string& path, std::string_view header)
    : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644)) {
  if (!fd_) throw system_error("open", path_, errno);
  if (::lseek(fd_.get(), 0, SEEK_END) == 0) add(header);
}

void GrowingOutput::add(std::string_view lines) { write_text(fd_.get(), lines, path_); }

}  // namespace headrace::files
