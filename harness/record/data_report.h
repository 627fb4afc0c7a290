// Reports about data: the progress of its making, walking or checking, and its errors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace headrace {

/// Reported while a data set is made, walked or verified. Done and total are bytes (or files, when bytes are unknown).
using DataProgress = std::function<void(std::uint64_t done, std::uint64_t total, std::string_view what)>;

/// A block with wrong content.
struct WrongBlock {
  std::string file;
  std::uint64_t offset = 0;
  std::string why;     // "holds block 17 of data/d000/f000003.bin", "torn: ...", "all zero"
  std::string part{};  // of the machine that made it wrong: "gpu3"; "" = not known
};

}  // namespace headrace
