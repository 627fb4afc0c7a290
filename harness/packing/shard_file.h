// One shard while it is written: under a name of headrace's own, around the page cache, until it is whole on the storage and
// was read back. While one piece is written, the next is gathered, so that the storage does not wait for samples.
#pragma once

#include <cstdint>
#include <future>
#include <string>
#include <string_view>

#include "harness/files/folder.h"

namespace headrace::packing {

class ShardFile {
 public:
  /// Makes it in `folder`, in place of what an earlier try left. Throws RunError, also when something that headrace did not
  /// make is in the way.
  ShardFile(const files::Folder& folder, std::string name, std::uint64_t expected_bytes);
  /// Takes away what did not become a shard.
  ~ShardFile();
  ShardFile(const ShardFile&) = delete;

  /// Throws RunError when the storage refused this or an earlier piece.
  void append(std::string_view bytes);
  /// All is on the storage.
  void finish();
  /// Reads it from the storage. Throws RunError when it is not what was written.
  void read_back() const;
  /// Gives it its name, which nothing may have.
  void publish();

  const std::string& name() const { return name_; }
  std::uint64_t bytes() const { return written_ + filled_; }
  std::uint32_t crc() const { return crc_; }  // CRC-32C of all of it, once it is finished

 private:
  static constexpr std::uint64_t kBuffer = 8 << 20;  // of each of the two [B]
  void write_out(std::uint64_t length);
  void wait_for_write();
  unsigned char* gathering() const { return buffers_ + (second_ ? kBuffer : 0); }
  std::string shown() const { return folder_.path_of(name_); }

  const files::Folder& folder_;
  const std::string name_, aside_;
  files::UniqueFd fd_;
  unsigned char* buffers_;
  bool second_ = false;                     // which of them is gathered in
  std::uint64_t written_ = 0, filled_ = 0;  // given to the storage, the piece under way included; gathered
  std::uint32_t crc_ = 0;                   // of what was given, but for the piece under way
  std::future<void> writing_;               // that piece; nothing else touches its buffer, or crc_, until it ended
  bool published_ = false;
};

}  // namespace headrace::packing
