#include "harness/packing/shard_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#include "harness/base/error.h"
#include "harness/files/write_fully.h"
#include "harness/formats/crc32c.h"
#include "harness/system/open_quiet.h"

namespace headrace::packing {
namespace {

constexpr std::uint64_t kBlock = 4096;  // what direct writes are multiples of [B]

}  // namespace

ShardFile::ShardFile(const files::Folder& folder, std::string name, std::uint64_t expected_bytes)
    : folder_(folder), name_(std::move(name)), aside_(".headrace-" + name_ + ".part") {
  if (folder_.look(name_)) throw RunError("create " + shown() + ": something is in the way");
  if (const auto left = folder_.look(aside_)) {
    if (!S_ISREG(left->st_mode) || !files::bears_mark(*left))
      throw RunError("create " + folder_.path_of(aside_) + ": something that headrace did not make is in the way");
    folder_.remove(aside_, *left);
  }
  fd_ = folder_.create(aside_.c_str());
  if (!fd_) throw system_error("create", shown(), errno);
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_DIRECT);  // refused: then through the cache
  // One piece on the disk, where the file system can; the size stays until data is there.
  ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(expected_bytes));
  void* const memory = ::mmap(nullptr, 2 * kBuffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  buffers_ = static_cast<unsigned char*>(memory);
}

ShardFile::~ShardFile() {
  if (writing_.valid()) writing_.wait();
  ::munmap(buffers_, 2 * kBuffer);
  struct stat status;
  if (published_ || ::fstat(fd_.get(), &status) != 0) return;
  try {
    folder_.remove(aside_, status);
  } catch (const RunError&) {
    // It stays, with headrace's mark, for the next try.
  }
}

void ShardFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t part = std::min<std::size_t>(kBuffer - filled_, bytes.size());
    std::memcpy(gathering() + filled_, bytes.data(), part);
    filled_ += part;
    bytes.remove_prefix(part);
    if (filled_ == kBuffer) write_out(kBuffer);
  }
}

/// Begins to write `length` bytes of what is gathered, of which those that are filled count, once the piece before is written.
void ShardFile::write_out(std::uint64_t length) {
  wait_for_write();
  writing_ = std::async(std::launch::async, [this, length, from = gathering(), filled = filled_, at = written_] {
    crc_ = formats::crc32c({from, filled}, crc_);
    if (!files::write_fully(fd_.get(), from, length, at)) throw system_error("write", shown(), errno);
  });
  written_ += filled_;
  filled_ = 0;
  second_ = !second_;
}

void ShardFile::wait_for_write() {
  if (writing_.valid()) writing_.get();
}

void ShardFile::finish() {
  if (const std::uint64_t length = (filled_ + kBlock - 1) / kBlock * kBlock; length > 0) {
    std::memset(gathering() + filled_, 0, length - filled_);
    write_out(length);
  }
  wait_for_write();
  if (::ftruncate(fd_.get(), static_cast<off_t>(written_)) != 0) throw system_error("truncate", shown(), errno);
  if (::fsync(fd_.get()) != 0) throw system_error("sync", shown(), errno);
}

void ShardFile::read_back() const {
  const system::UniqueFd fd = system::open_quiet(folder_.fd(), aside_.c_str(), O_NOFOLLOW);
  if (!fd) throw system_error("open", shown(), errno);
  // What the storage holds is checked, not what memory holds of it.
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<unsigned char> buffer(kBuffer);
  std::uint32_t crc = 0;
  std::uint64_t at = 0;
  for (;;) {
    const ssize_t got = ::pread(fd.get(), buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("read back", shown(), at, errno);
    if (got == 0) break;
    crc = formats::crc32c({buffer.data(), static_cast<std::size_t>(got)}, crc);
    at += static_cast<std::uint64_t>(got);
  }
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);  // nor is memory to be full of it
  if (at != written_ || crc != crc_)
    throw RunError(fmt::format("{}: read back, it is not what was written ({} of {} bytes, CRC-32C {:08x}, not {:08x})",
                               shown(), at, written_, crc, crc_));
}

void ShardFile::publish() {
  if (!folder_.publish(aside_.c_str(), name_.c_str(), fd_.get())) throw system_error("name", shown(), errno);
  published_ = true;
}

}  // namespace headrace::packing
