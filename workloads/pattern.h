// Data with its place, to be found again on the other side of a copy.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "harness/workload/data/data_set.h"

namespace headrace {

/// Every 8 bytes report their place and `key`: neighbours, buffers and zeros all differ.
inline std::uint64_t pattern_word(std::uint64_t key, std::uint64_t place) noexcept {
  return (place + 1) * 0x9e3779b97f4a7c15u ^ (key + 1) * 0xc2b2ae3d27d4eb4fu;
}

inline void fill_pattern(unsigned char* to, std::uint64_t bytes, std::uint64_t key) noexcept {
  for (std::uint64_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = pattern_word(key, at / 8);
    std::memcpy(to + at, &word, bytes - at < 8 ? bytes - at : 8);
  }
}

/// The first place that differs, in `wrong`. `where` names the buffer, `part` what of the machine is broken then, if
/// known.
inline void check_pattern(const unsigned char* data, std::uint64_t bytes, std::uint64_t key, const std::string& where,
                          std::vector<WrongBlock>& wrong, const std::string& part = "") {
  for (std::uint64_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = pattern_word(key, at / 8);
    if (std::memcmp(data + at, &word, bytes - at < 8 ? bytes - at : 8) == 0) continue;
    wrong.push_back({where, at, "the copy differs from the sent data", part});
    return;
  }
}

}  // namespace headrace
