// Any text as verdict.json: refused with words, or a verdict that is what its judgements come to.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/fuzz/stored.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace;
  results::StoredVerdict verdict;
  try {
    const auto document =
        results::parse_kind(std::string_view(reinterpret_cast<const char*>(data), size), "headrace.verdict");
    results::read_verdict(results::JsonPlace(document), std::nullopt, verdict);
  } catch (const UsageError& e) {
    fuzzing::expect(*e.what() != '\0', "a refusal says why", "");
    return 0;
  }
  fuzzing::check_verdict(verdict);
  return 0;
}
