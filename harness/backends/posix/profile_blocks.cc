// Blocks of large files as loaders of packed data sets read them.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/backends/posix/buffered_file.h"
#include "harness/backends/posix/posix_engine.h"
#include "harness/backends/read_profiles.h"

namespace headrace {
namespace {

/// Common to such readers: one block at a time, timed.
class ProfileBlocks : public BlockReader {
 public:
  ProfileBlocks(std::span<const std::uint32_t> selected, std::uint64_t room)
      : selected_(selected.begin(), selected.end()), to_(room) {}
  void attach() final { own_descriptors(); }
  std::span<const BlockCompletion> exchange(std::span<const BlockRequest> requests, unsigned) final {
    if (requests.empty()) return {};
    const BlockRequest& request = requests.front();
    done_ = {.file = request.file, .slot = request.slot, .offset = request.offset, .result = 0, .begin_ns = now_ns()};
    done_.result = read(request, selected_[request.file]);
    done_.end_ns = now_ns();
    return {&done_, 1};
  }
  unsigned char* data(std::uint32_t) final { return to_.data(); }

 protected:
  /// Bytes of the block up to the file's end, or -errno.
  virtual std::int64_t read(const BlockRequest& request, std::uint32_t file) noexcept = 0;

  std::vector<std::uint32_t> selected_;
  std::vector<unsigned char> to_;

 private:
  BlockCompletion done_;
};

/// A tar archive read as a stream (tarfile's "r|*"). It reads a header to see whether it is compressed, then record by
/// record.
class TarStream final : public ProfileBlocks {
 public:
  TarStream(const FileTable& files, std::span<const std::uint32_t> selected)
      : ProfileBlocks(selected, kHeader + kTarRecord), files_(files), input_(files) {}
  void detach() noexcept override { input_.close(); }

 private:
  static constexpr std::uint64_t kHeader = 512;

  std::int64_t read(const BlockRequest& request, std::uint32_t file) noexcept override {
    if (request.offset == 0 || !input_.is_open()) {  // the begin, or where another reader had come to
      input_.close();
      have_ = request.offset;
      if (const int code = input_.open(file)) return -code;
      if (request.offset > 0) input_.seek(static_cast<std::int64_t>(request.offset), SEEK_SET);
      if (const std::int64_t failed = more(to_.data(), kHeader); failed < 0) return failed;
    } else {
      // Bytes that the record before read beyond its block: the stream is a header ahead.
      std::memmove(to_.data(), to_.data() + kTarRecord, kHeader);
    }
    if (const std::int64_t failed = more(to_.data() + kHeader, kTarRecord); failed < 0) return failed;
    const std::uint64_t end = request.offset + request.length;
    if (end >= files_.size(file)) {
      if (const int code = input_.close()) return -code;
    }
    return static_cast<std::int64_t>(std::min(have_, end) - std::min(have_, request.offset));
  }
  std::int64_t more(unsigned char* to, std::uint64_t bytes) noexcept {
    const std::int64_t got = input_.read(to, bytes);
    if (got > 0) have_ += static_cast<std::uint64_t>(got);
    return got;
  }

  const FileTable& files_;
  BufferedFile input_;
  std::uint64_t have_ = 0;  // bytes of the open file read so far
};

/// Readers that open the file for every block.
class OpenEach : public ProfileBlocks {
 public:
  OpenEach(const FileTable& files, std::span<const std::uint32_t> selected, std::uint64_t block_size)
      : ProfileBlocks(selected, std::max(block_size, kFooter)), files_(files) {}

 protected:
  static constexpr std::uint64_t kFooter = 65536;  // of a Parquet file: pyarrow's first read

  std::int64_t read(const BlockRequest& request, std::uint32_t file) noexcept final {
    const int fd = open_for_reading(files_.root_fd(), files_.path(file), kReadFlags);
    if (fd < 0) return -errno;
    struct stat status {};
    std::int64_t result = ::fstat(fd, &status) != 0 ? -errno : 0;
    if (result == 0) result = read_open(fd, request, files_.size(file));
    if (::close(fd) != 0 && result >= 0) result = -errno;
    return result;
  }
  virtual std::int64_t read_open(int fd, const BlockRequest& request, std::uint64_t size) noexcept = 0;

  const FileTable& files_;
};

/// The sample's place out of the shard's index, then the sample.
class IndexedSamples final : public OpenEach {
  using OpenEach::OpenEach;

  std::int64_t read_open(int fd, const BlockRequest& request, std::uint64_t size) noexcept override {
    constexpr std::uint64_t kEntry = 4, kPlace = 8;  // begin and end, of 4 bytes each
    const std::uint64_t number = request.length == 0 ? 0 : request.offset / request.length;
    const std::uint64_t index = std::min((number + 1) * kEntry, size > kPlace ? size - kPlace : 0);
    ::lseek(fd, static_cast<off_t>(index), SEEK_SET);
    if (const std::int64_t got = all(fd, kPlace); got < 0) return got;
    ::lseek(fd, static_cast<off_t>(request.offset), SEEK_SET);
    return all(fd, request.length);
  }
  std::int64_t all(int fd, std::uint64_t length) noexcept {
    std::uint64_t done = 0;
    while (done < length) {
      const ssize_t n = ::read(fd, to_.data() + done, length - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return -errno;
      if (n == 0) break;
      done += static_cast<std::uint64_t>(n);
    }
    return static_cast<std::int64_t>(done);
  }
};

/// The footer, with the places of the row groups, then the row group.
class RowGroups final : public OpenEach {
  using OpenEach::OpenEach;

  std::int64_t read_open(int fd, const BlockRequest& request, std::uint64_t size) noexcept override {
    const std::uint64_t footer = std::min(kFooter, size);
    if (const std::int64_t got = all(fd, size - footer, footer); got < 0) return got;
    return all(fd, request.offset, request.length);
  }
  std::int64_t all(int fd, std::uint64_t offset, std::uint64_t length) noexcept {
    std::uint64_t done = 0;
    while (done < length) {
      const ssize_t n = ::pread(fd, to_.data() + done, length - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return -errno;
      if (n == 0) break;
      done += static_cast<std::uint64_t>(n);
    }
    return static_cast<std::int64_t>(done);
  }
};

}  // namespace

std::unique_ptr<BlockReader> profile_block_reader(ReadProfile profile, const FileTable& files,
                                                  std::span<const std::uint32_t> selected, std::uint64_t block_size) {
  if (profile == ReadProfile::wds) return std::make_unique<TarStream>(files, selected);
  if (profile == ReadProfile::mds) return std::make_unique<IndexedSamples>(files, selected, block_size);
  if (profile == ReadProfile::row_group) return std::make_unique<RowGroups>(files, selected, block_size);
  throw RunError("this read profile is none of blocks");
}

}  // namespace headrace
