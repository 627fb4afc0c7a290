// Any bytes as a TFRecord file: as they are, and with each CRC made right, behind which most of the parser lies.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "harness/backends/formats/crc32c.h"
#include "harness/backends/formats/tfrecord.h"
#include "tests/fuzz/parsed.h"

namespace {
using namespace headrace::formats;

void mend(std::string& records) {
  auto* const bytes = reinterpret_cast<unsigned char*>(records.data());
  const auto put_crc = [&](std::size_t of, std::size_t length) {
    const std::uint32_t crc = masked(crc32c({bytes + of, length}));
    std::memcpy(bytes + of + length, &crc, sizeof crc);
  };
  for (std::size_t at = 0; records.size() - at >= kRecordHead + kRecordFoot;) {
    std::uint64_t length;
    std::memcpy(&length, bytes + at, sizeof length);
    const std::size_t room = records.size() - at - kRecordHead - kRecordFoot;
    put_crc(at, sizeof length);
    if (length > room) return;  // cut off
    put_crc(at + kRecordHead, length);
    at += kRecordHead + length + kRecordFoot;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto parser = tfrecord_parser();
  headrace::fuzzing::parse(*parser, data, size);
  std::string mended(reinterpret_cast<const char*>(data), size);
  mend(mended);
  headrace::fuzzing::parse(*parser, reinterpret_cast<const std::uint8_t*>(mended.data()), mended.size());
  return 0;
}
