// Publications that formulas name by a short word.
#pragma once

#include <span>
#include <string_view>

namespace headrace::requirements {

struct Source {
  std::string_view word;  // as in a formula's source: "MLPS"
  std::string_view text;
};
std::span<const Source> sources();

}  // namespace headrace::requirements
