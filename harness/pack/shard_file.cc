#include "harness/pack/shard_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "harness/backends/formats/crc32c.h"
#include "harness/base/error.h"
#include "harness/base/files/write_fully.h"
#include "harness/base/start_thread.h"
#include "harness/base/system/open_quiet.h"

namespace headrace::pack {
namespace {

constexpr std::uint64_t kBlock = 4096;    // the unit of direct writes [B]
constexpr std::uint64_t kRead = 8 << 20;  // bytes of one read
constexpr std::string_view kAsideBegin = ".headrace-", kAsideEnd = ".part";

bool is_aside(std::string_view name) { return name.starts_with(kAsideBegin) && name.ends_with(kAsideEnd); }

}  // namespace

ShardContent content_of(const files::Folder& folder, const std::string& name, const std::string& shown) {
  system::UniqueFd fd = system::open_quiet(folder.fd(), name.c_str(), O_NOFOLLOW | O_DIRECT);
  const bool direct = static_cast<bool>(fd);
  if (!direct) fd = system::open_quiet(folder.fd(), name.c_str(), O_NOFOLLOW);
  if (!fd) throw system_error("open", shown, errno);
  // The storage's content is checked, not the cache's.
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (!direct) ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(kBlock, kRead), &std::free);
  if (!memory) throw std::bad_alloc();
  const auto* const buffer = static_cast<const unsigned char*>(memory.get());
  ShardContent content;
  for (;;) {
    const ssize_t got = ::pread(fd.get(), memory.get(), kRead, static_cast<off_t>(content.bytes));
    if (got < 0 && errno == EINTR) continue;
    // Direct reads that are refused here after all, or not behind the end of a file of no whole blocks.
    const int flags = ::fcntl(fd.get(), F_GETFL);
    if (got < 0 && errno == EINVAL && (flags & O_DIRECT) && ::fcntl(fd.get(), F_SETFL, flags & ~O_DIRECT) == 0)
      continue;
    if (got < 0) throw system_error("read back", shown, content.bytes, errno);
    if (got == 0) break;
    content.crc = formats::crc32c({buffer, static_cast<std::size_t>(got)}, content.crc);
    content.bytes += static_cast<std::uint64_t>(got);
  }
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);  // nor is memory to be full of it
  return content;
}

std::int64_t modified_ns(const struct stat& status) noexcept {
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

void remove_asides(const files::Folder& folder) {
  for (const std::string& name : folder.entries()) {
    const auto status = folder.look(name);
    if (is_aside(name) && status && S_ISREG(status->st_mode) && files::bears_mark(*status))
      folder.remove(name, *status);
  }
}

ShardFile::ShardFile(const files::Folder& folder, std::string name, std::uint64_t expected_bytes)
    : folder_(folder), name_(std::move(name)), aside_(std::string(kAsideBegin) + name_ + std::string(kAsideEnd)) {
  if (folder_.look(name_)) throw RunError("create " + shown() + ": something is in the way");
  if (const auto left = folder_.look(aside_)) {
    if (!S_ISREG(left->st_mode) || !files::bears_mark(*left))
      throw RunError("create " + folder_.path_of(aside_) + ": refusing to overwrite: headrace did not make this file");
    folder_.remove(aside_, *left);
  }
  void* const memory = ::mmap(nullptr, kPieces * kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_.reset(static_cast<unsigned char*>(memory));
  ::madvise(memory, kPieces * kPiece, MADV_HUGEPAGE);  // fewer faults, and fewer segments per direct write
  fd_ = folder_.create(aside_.c_str());
  if (!fd_) throw system_error("create", shown(), errno);
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_DIRECT);  // refused: then through the cache
  // One piece on the disk, where the file system can; the size stays until data is there.
  ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(expected_bytes));
  try {
    writing_ = start_thread([this] { write_pieces(); });
  } catch (const RunError&) {
    discard();
    throw;
  }
}

ShardFile::~ShardFile() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  writing_.join();
  if (!published_) discard();
}

void ShardFile::discard() noexcept {
  struct stat status;
  try {
    if (::fstat(fd_.get(), &status) == 0) folder_.remove(aside_, status);
  } catch (const RunError&) {
    // It stays, with headrace's mark, for the next try.
  }
}

void ShardFile::append(std::string_view bytes) {
  crc_ = formats::crc32c({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()}, crc_);
  while (!bytes.empty()) {
    const std::uint64_t filled = bytes_ % kPiece, part = std::min<std::uint64_t>(kPiece - filled, bytes.size());
    std::memcpy(memory_of(gathered_) + filled, bytes.data(), part);
    bytes_ += part;
    bytes.remove_prefix(part);
    if (bytes_ % kPiece == 0) hand_over(kPiece);
  }
}

/// Writes `length` bytes of the gathered piece. Returns when there is room for another.
void ShardFile::hand_over(std::uint64_t length) {
  std::unique_lock lock(mutex_);
  last_length_ = length;
  ++gathered_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return failed_ || gathered_ - written_ < kPieces; });
  if (failed_) std::rethrow_exception(failed_);
}

void ShardFile::write_pieces() {
  for (std::unique_lock lock(mutex_);; changed_.notify_all()) {
    changed_.wait(lock, [this] { return ended_ || written_ < gathered_; });
    if (written_ == gathered_ || failed_) return;
    const std::uint64_t piece = written_, length = piece + 1 == gathered_ ? last_length_ : kPiece;
    lock.unlock();
    const bool done = files::write_fully(fd_.get(), memory_of(piece), length, piece * kPiece);
    const int error = errno;
    lock.lock();
    ++written_;
    if (!done) failed_ = std::make_exception_ptr(system_error("write", shown(), error));
  }
}

void ShardFile::finish() {
  if (const std::uint64_t filled = bytes_ % kPiece; filled > 0) {
    const std::uint64_t length = (filled + kBlock - 1) / kBlock * kBlock;
    std::memset(memory_of(gathered_) + filled, 0, length - filled);
    hand_over(length);
  }
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return failed_ || written_ == gathered_; });
    if (failed_) std::rethrow_exception(failed_);
  }
  if (::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0) throw system_error("truncate", shown(), errno);
  if (::fsync(fd_.get()) != 0) throw system_error("sync", shown(), errno);
}

struct stat ShardFile::status() const {
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) throw system_error("look at", shown(), errno);
  return status;
}

void ShardFile::read_back() const {
  const ShardContent read = content_of(folder_, aside_, shown());
  if (read.bytes != bytes_ || read.crc != crc_)
    throw RunError(
        fmt::format("{}: read back, it differs from the written data ({} of {} bytes, CRC-32C {:08x}, not {:08x})",
                    shown(), read.bytes, bytes_, read.crc, crc_));
}

void ShardFile::publish() {
  if (!folder_.publish(aside_.c_str(), name_.c_str(), fd_.get())) throw system_error("name", shown(), errno);
  published_ = true;
}

}  // namespace headrace::pack
