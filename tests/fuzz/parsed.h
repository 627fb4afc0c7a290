// What a parser of shards finds in any bytes: samples lie in them one behind the other, however the bytes come, and it comes
// to an end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/backends/formats/sample_parser.h"
#include "tests/fuzz/invariant.h"

namespace headrace::fuzzing {

/// All that `parser` finds, given `chunk` bytes at a time, in words.
inline std::string found_in(formats::SampleParser& parser, const std::uint8_t* data, std::size_t size,
                            std::size_t chunk) {
  using formats::Found;
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

/// Whole, and in small pieces: the same. One parser for all inputs, as a worker has one for all its shards.
inline void parse(formats::SampleParser& parser, const std::uint8_t* data, std::size_t size) {
  const std::string whole = found_in(parser, data, size, size);
  for (const std::size_t chunk : {std::size_t{3}, std::size_t{512}})
    expect(found_in(parser, data, size, chunk) == whole, "however the bytes come, the same is found", whole);
}

}  // namespace headrace::fuzzing
