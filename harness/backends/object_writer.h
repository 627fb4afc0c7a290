// How objects are written: one at a time on each thread, in parts that are on their way together.
#pragma once

#include <cstdint>
#include <string>

#include "harness/backends/file_io.h"

namespace headrace {

/// S3's limits of a multipart upload: https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
inline constexpr std::uint64_t kLeastPart = 5 << 20;  // [B], but of the last one
inline constexpr std::uint64_t kMostParts = 10'000;

struct ObjectWriterOptions {
  std::uint32_t queue_depth = 1;  // parts in flight
  std::uint64_t part_size = 0;    // [B]
  unsigned retries = 0;           // how often a request is sent again whose failure may pass
};

/// An object is there when finish() has returned, whole, and before that not at all. Of BlockWriter::exchange() each
/// request is a part: its offset a multiple of `part_size`, its length that but of the last. Its file does not matter.
/// A part that could not be sent has an error, and why() reports the first.
class ObjectWriter : public BlockWriter {
 public:
  /// Untimed: the whole content to send. The checksums of its parts are sent along from then on, and compared with the
  /// store's.
  virtual void checksums_of(const unsigned char* from, std::uint64_t size) = 0;
  /// Begins the object at `url`; of more than one part by an upload. Throws RunError.
  virtual void begin(const std::string& url, std::uint64_t size) = 0;
  /// All parts are there: makes the object of them. Returns its ETag. Throws RunError.
  virtual std::string finish() = 0;
  /// Gives up an unfinished object: nothing of it stays. False: the store could not be reported so.
  virtual bool give_up() noexcept = 0;
  /// Why the first part that failed did, with what to do; "" = none has.
  virtual const std::string& why() const = 0;
};

}  // namespace headrace
