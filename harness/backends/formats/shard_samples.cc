#include "harness/backends/formats/shard_samples.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "harness/backends/formats/bytes_at.h"
#include "harness/backends/formats/little_endian.h"
#include "harness/backends/formats/sample_parser.h"
#include "harness/backends/formats/tar.h"
#include "harness/base/system/open_quiet.h"

namespace headrace::formats {
namespace {

/// Counts the samples of a shard as its bytes come.
class Counter {
 public:
  Counter(int fd, std::uint64_t size, Format format)
      : fd_(fd),
        size_(size),
        parser_(format == Format::tar ? tar_parser(parts_of_first_samples(bytes_of_file(fd), size))
                                      : tfrecord_parser()) {
    parser_->begin();
  }

  CountedSamples count(std::uint64_t most) {
    while (at_ < std::min(size_, most) && read_more()) {
    }
    if (!damaged_ && at_ >= size_) end();
    return damaged_ ? CountedSamples{} : counted_;
  }

 private:
  /// False: no more can be read or counted.
  bool read_more() {
    const ssize_t got = ::pread(fd_, buffer_.data() + kept_, buffer_.size() - kept_, static_cast<off_t>(at_));
    if (got <= 0) return false;
    at_ += static_cast<std::uint64_t>(got);
    std::span<const unsigned char> rest(buffer_.data(), kept_ + static_cast<std::size_t>(got));
    rest = parse(rest);
    std::copy(rest.begin(), rest.end(), buffer_.begin());
    kept_ = rest.size();
    damaged_ = damaged_ || kept_ == buffer_.size();
    return !damaged_;
  }

  std::span<const unsigned char> parse(std::span<const unsigned char> rest) {
    while (true) {
      const Found found = parser_->take(rest);
      rest = rest.subspan(found.used);
      if (found.kind == Found::Kind::bad) damaged_ = true;
      if (found.kind != Found::Kind::sample) return rest;
      ++counted_.samples;
      counted_.bytes = at_ - rest.size();
    }
  }

  void end() {
    for (Found found = parser_->end(); found.kind != Found::Kind::over; found = parser_->end()) {
      counted_.samples += found.kind == Found::Kind::sample;
      damaged_ = damaged_ || found.kind == Found::Kind::bad;
    }
    counted_.bytes = size_;
  }

  const int fd_;
  const std::uint64_t size_;
  std::unique_ptr<SampleParser> parser_;
  std::vector<unsigned char> buffer_ = std::vector<unsigned char>(1 << 20);
  std::size_t kept_ = 0;
  std::uint64_t at_ = 0;
  bool damaged_ = false;
  CountedSamples counted_;
};

CountedSamples in_head(int fd, std::uint64_t size) {
  unsigned char head[4];
  if (::pread(fd, head, sizeof head, 0) != sizeof head) return {};
  return {size, little_endian_32(head)};
}

}  // namespace

CountedSamples count_samples(const std::string& path, Format format, std::uint64_t most) {
  const system::UniqueFd fd = system::open_quiet(AT_FDCWD, path.c_str());
  struct stat status {};
  if (format == Format::none || !fd || ::fstat(fd.get(), &status) != 0) return {};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return format == Format::mds ? in_head(fd.get(), size) : Counter(fd.get(), size, format).count(most);
}

}  // namespace headrace::formats
