// Any bytes as a tar shard: as they are, and with each block's checksum made right, behind which most of the parser lies.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "harness/backends/formats/tar.h"
#include "tests/fuzz/parsed.h"

namespace {

/// The sum of a header's bytes, its own place taken for blanks, as six octal digits.
void mend(std::string& block) {
  constexpr std::size_t kAt = 148, kLength = 8;
  block.replace(kAt, kLength, kLength, ' ');
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  char text[kLength];
  std::snprintf(text, sizeof text, "%06o", sum);
  block.replace(kAt, kLength, text, kLength);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace::formats;
  static const auto parser = tar_parser({"cls", "image"});
  headrace::fuzzing::parse(*parser, data, size);
  std::string mended;
  for (std::size_t at = 0; at < size; at += kTarBlock) {
    std::string block(reinterpret_cast<const char*>(data) + at, std::min<std::size_t>(kTarBlock, size - at));
    if (block.size() == kTarBlock && block.find_first_not_of('\0') != std::string::npos) mend(block);
    mended += block;
  }
  headrace::fuzzing::parse(*parser, reinterpret_cast<const std::uint8_t*>(mended.data()), mended.size());
  sample_name({reinterpret_cast<const char*>(data), size});
  pax_value({reinterpret_cast<const char*>(data), size}, "path");
  return 0;
}
