#include "harness/observe/calls/lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"

namespace headrace::observe::calls {
namespace {

constexpr std::size_t kFirstReported = 5;
constexpr unsigned kBlock = 1 << 18;
constexpr std::size_t kLongestLine = 16 << 20;

}  // namespace

struct Lines::Packed {
  gzFile file = nullptr;  // reads unpacked files, too
};

Lines::Lines(std::string path) : path_(std::move(path)), packed_(std::make_unique<Packed>()) {
  // A pipe without a writer would be waited for, here and when it is read.
  const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (fd < 0 || ::fstat(fd, &status) != 0) throw UsageError(fmt::format("{}: {}", path_, errno_text(errno)));
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    throw UsageError(fmt::format(
        "{}: {}", path_,
        S_ISDIR(status.st_mode) ? "is a folder" : "is a pipe or a device: write its output to a file and name that"));
  }
  packed_->file = ::gzdopen(fd, "rb");
  if (packed_->file == nullptr) {
    ::close(fd);
    throw UsageError(fmt::format("{}: {}", path_, errno_text(errno)));
  }
  ::gzbuffer(packed_->file, kBlock);
}

Lines::~Lines() {
  if (packed_->file != nullptr) ::gzclose(packed_->file);
}

bool Lines::fill() {
  if (over_) return false;
  held_.erase(0, at_);
  at_ = 0;
  const std::size_t before = held_.size();
  held_.resize(before + kBlock);
  const int got = ::gzread(packed_->file, held_.data() + before, kBlock);
  held_.resize(before + static_cast<std::size_t>(std::max(0, got)));
  if (got > 0) return true;
  over_ = true;
  int code = Z_OK;
  const char* const why = ::gzerror(packed_->file, &code);
  // A killed process leaves its last block unfinished: the blocks before it are good.
  if (code != Z_OK && code != Z_BUF_ERROR)
    throw UsageError(fmt::format("{}:{}: {}", path_, number_ + 1, code == Z_ERRNO ? errno_text(errno) : why));
  return false;
}

bool Lines::next(std::string_view& line) {
  std::size_t end = held_.find('\n', at_);
  while (end == held_.npos && fill()) {
    end = held_.find('\n', at_);
    if (end == held_.npos && held_.size() - at_ > kLongestLine)
      throw UsageError(fmt::format("{}:{}: is no text of lines", path_, number_ + 1));
  }
  if (end == held_.npos && at_ >= held_.size()) return false;
  const std::size_t length = (end == held_.npos ? held_.size() : end) - at_;
  line = std::string_view(held_).substr(at_, length);
  if (line.ends_with('\r')) line.remove_suffix(1);
  at_ += length + (end == held_.npos ? 0 : 1);
  ++number_;
  return true;
}

void BadLines::add(const Lines& where, const std::string& why) {
  ++count_;
  if (first_.size() >= kFirstReported || std::find(reasons_.begin(), reasons_.end(), why) != reasons_.end()) return;
  reasons_.push_back(why);
  first_.push_back(fmt::format("{}:{}: {}", where.path(), where.number(), why));
}

std::string BadLines::text() const {
  if (count_ == 0) return "";
  return fmt::format("{} line{} left out: {}{}", count_, count_ == 1 ? " was" : "s were", fmt::join(first_, "; "),
                     count_ > first_.size() ? " ..." : "");
}

}  // namespace headrace::observe::calls
