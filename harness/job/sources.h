// Publications that formulas name by a short word.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace headrace::job {

struct Source {
  std::string_view word;  // as in a formula's source: "MLPS"
  std::string_view text;
};
std::span<const Source> sources();
/// Those that `text` names: "NCCL-T" does not name "NCCL".
std::vector<Source> sources_named_in(std::string_view text);

}  // namespace headrace::job
