// Small files read and replaced through their folder's descriptor.
#include "harness/system/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "harness/error.h"
#include "harness/system/unique_fd.h"

namespace headrace::system {

std::string read_small_file(int folder, const char* name) {
  constexpr std::size_t kMost = 64 << 10;
  const UniqueFd file(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!file && errno == EIO) throw system_error("open", name, errno);
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  std::string text(kMost, '\0');
  const ssize_t length = ::read(file.get(), text.data(), text.size());
  if (length < 0 && errno == EIO) throw system_error("read", name, errno);
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return text;
}

void replace_small_file(int folder, const char* name, const char* aside, const std::string& text,
                        const std::string& shown) {
  ::unlinkat(folder, aside, 0);
  const UniqueFd file(
      ::openat(folder, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file) throw system_error("create", shown, errno);
  errno = 0;
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.get()) != 0 || ::renameat(folder, aside, folder, name) != 0) {
    const int code = errno ? errno : ENOSPC;
    ::unlinkat(folder, aside, 0);
    throw system_error("write", shown, code);
  }
  ::fsync(folder);  // the name itself; some network file systems cannot and need not
}

}  // namespace headrace::system
