// Any bytes as an MDS shard: samples lie in it one behind the other, however the bytes come, and it comes to an end.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/formats/mds.h"
#include "harness/formats/sample_parser.h"
#include "tests/fuzz/invariant.h"

namespace {
using namespace headrace::formats;
using headrace::fuzzing::expect;

std::string told(SampleParser& parser, const std::uint8_t* data, std::size_t size, std::size_t chunk) {
  std::string all;
  std::uint64_t last = 0;
  bool lost = false;
  const auto note = [&](const Found& found) {
    all += std::to_string(static_cast<int>(found.kind)) + " " + std::to_string(static_cast<int>(found.flaw)) + " " +
           std::to_string(found.offset) + " " + std::to_string(found.bytes) + "\n";
    lost = found.kind == Found::Kind::bad && rest_is_lost(found.flaw);
    if (found.kind != Found::Kind::sample) return;
    expect(found.offset >= last && found.offset + found.bytes <= size, "a sample lies in the shard", all);
    last = found.offset + found.bytes;
  };
  parser.begin();
  for (std::size_t at = 0; at < size && !lost;) {
    const Found found = parser.take({data + at, std::min(chunk, size - at)});
    expect(found.used <= std::min(chunk, size - at), "no more is used than was given", all);
    expect(found.used > 0 || found.kind != Found::Kind::more, "it goes on", all);
    at += found.used;
    if (found.kind != Found::Kind::more) note(found);
  }
  while (!lost) {
    const Found found = parser.end();
    if (found.kind == Found::Kind::over) break;
    note(found);
  }
  return all;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // One parser for all inputs, as a worker has one for all its shards.
  static const auto parser = mds_parser(mds_columns(R"({"format": "mds", "column_sizes": [2, null, null]})"));
  const std::string whole = told(*parser, data, size, size);
  expect(told(*parser, data, size, 3) == whole, "however the bytes come, the same is found", whole);
  mds_columns({reinterpret_cast<const char*>(data), size});
  return 0;
}
