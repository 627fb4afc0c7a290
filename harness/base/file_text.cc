#include "harness/base/file_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness/base/diagnostics.h"

namespace headrace {
namespace {

constexpr std::size_t kBlock = 1 << 20;
constexpr int kSilent_ms = 10'000;  // of a pipe

UsageError unreadable(int code) { return UsageError(std::string("cannot be read: ") + std::strerror(code)); }

/// An open file that closes itself.
class File {
 public:
  explicit File(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    if (fd_ < 0) throw unreadable(errno);
    if (!is_named_pipe(fd_)) return;
    ::close(fd_);
    throw UsageError(kIsNamedPipe);
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;

  /// 0 = of no known size.
  std::size_t size() const {
    struct stat status;
    return ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0;
  }
  /// 0 = it is over. A pipe without a writer is given up.
  std::size_t read(char* to, std::size_t most) const {
    for (;;) {
      struct pollfd wait {
        fd_, POLLIN, 0
      };
      const int ready = ::poll(&wait, 1, kSilent_ms);
      if (ready == 0) throw UsageError(fmt::format("gave nothing to read for {} s", kSilent_ms / 1000));
      const ssize_t n = ready < 0 ? -1 : ::read(fd_, to, most);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR && errno != EAGAIN) throw unreadable(errno);
    }
  }

 private:
  const int fd_;
};

}  // namespace

bool is_named_pipe(int fd) {
  struct stat status;
  struct statfs system;
  return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && ::fstatfs(fd, &system) == 0 &&
         system.f_type != PIPEFS_MAGIC;
}

std::string file_text(const std::string& path, std::size_t most) {
  const File file(path);
  const auto refuse = [&](const std::string& size) {
    throw UsageError(fmt::format("has {} MiB; at most {} MiB are read", size, most >> 20));
  };
  if (file.size() > most) refuse(std::to_string(file.size() >> 20));
  std::string text;
  // Block by block: a device, or a pipe, may never end.
  for (std::size_t got = 1; got > 0;) {
    const std::size_t before = text.size();
    if (before > most) refuse(fmt::format("more than {}", most >> 20));
    text.resize(before + kBlock);
    got = file.read(text.data() + before, kBlock);
    text.resize(before + got);
  }
  return text;
}

}  // namespace headrace
