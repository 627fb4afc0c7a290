#include "harness/observe/learning/learned.h"

#include <algorithm>

#include "harness/base/units.h"

namespace headrace::observe {
namespace {

constexpr double kSharp = 0.05;  // relative

/// Enough digits that the value is the same within a thousandth.
std::string quantity(double value, Dimension dimension) {
  std::string text = compact_quantity(value, dimension, 4);
  std::erase(text, ' ');
  return text;
}

}  // namespace

void learn_word(Observation& seen, const std::string& key, const std::string& text, Confidence confidence,
                const std::string& evidence) {
  seen.learned.push_back({.key = key, .text = text, .confidence = confidence, .evidence = evidence});
}

void learn_number(Observation& seen, const std::string& key, double value, double spread, Dimension dimension,
                  Confidence confidence, const std::string& evidence) {
  seen.learned.push_back({.key = key,
                          .text = quantity(value, dimension),
                          .dimension = dimension,
                          .value = value,
                          .low = value * std::max(0.0, 1 - spread),
                          .high = value * (1 + spread),
                          .confidence = spread > kSharp ? std::max(confidence, Confidence::low) : confidence,
                          .evidence = evidence});
}

}  // namespace headrace::observe
