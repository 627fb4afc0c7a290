// One shard while it is written, around the page cache, under headrace's own name. It ends when the shard is whole on
// the storage and was read back. A thread of its own writes, piece by piece, so that the storage does not wait for
// samples.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "harness/base/files/folder.h"

namespace headrace::pack {

struct ShardContent {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // CRC-32C
};

/// Reads a file of `folder` from the storage, around the page cache. Throws RunError, which names it `shown`.
ShardContent content_of(const files::Folder& folder, const std::string& name, const std::string& shown);

/// The time of the last change of its content [ns].
std::int64_t modified_ns(const struct stat& status) noexcept;

/// Removes the rest of killed packings in `folder`, which the caller has locked. Throws RunError.
void remove_asides(const files::Folder& folder);

class ShardFile {
 public:
  /// Makes it in `folder`, in place of an earlier try's file. Throws RunError, also when something that headrace did
  /// not make is in the way.
  ShardFile(const files::Folder& folder, std::string name, std::uint64_t expected_bytes);
  /// Removes a file that did not become a shard.
  ~ShardFile();
  ShardFile(const ShardFile&) = delete;

  /// Throws RunError when the storage refused an earlier piece.
  void append(std::string_view bytes);
  /// Returns once all is on the storage; throws RunError when that refused some of it.
  void finish();
  /// Reads it from the storage. Throws RunError when it differs from the written bytes.
  void read_back() const;
  /// Gives it its name, which nothing may have.
  void publish();

  const std::string& name() const { return name_; }
  std::uint64_t bytes() const { return bytes_; }  // that were appended
  std::uint32_t crc() const { return crc_; }      // CRC-32C of them
  /// After finish().
  struct stat status() const;

 private:
  static constexpr std::uint64_t kPiece = 8 << 20;  // [B]
  static constexpr std::uint64_t kPieces = 4;  // that memory holds: one is gathered, the others wait or are written

  void hand_over(std::uint64_t length);
  void write_pieces();
  void discard() noexcept;
  unsigned char* memory_of(std::uint64_t piece) const { return memory_.get() + piece % kPieces * kPiece; }
  std::string shown() const { return folder_.path_of(name_); }

  const files::Folder& folder_;
  const std::string name_, aside_;
  files::UniqueFd fd_;
  struct Unmap {
    void operator()(unsigned char* memory) const noexcept { ::munmap(memory, kPieces * kPiece); }
  };
  std::unique_ptr<unsigned char, Unmap> memory_;  // of all pieces
  std::uint64_t bytes_ = 0;
  std::uint32_t crc_ = 0;
  bool published_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t gathered_ = 0, written_ = 0;  // pieces; memory of those between them is the writing thread's
  std::uint64_t last_length_ = kPiece;        // of the last piece, in whole blocks [B]
  bool ended_ = false;                        // no piece will follow
  std::exception_ptr failed_;
  std::jthread writing_;  // after what it uses
};

}  // namespace headrace::pack
