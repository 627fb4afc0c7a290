#include "harness/observe/learning/learned.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/code_points.h"
#include "harness/base/escape.h"
#include "harness/base/units.h"

namespace headrace::observe {
namespace {

constexpr double kSharp = 0.05;    // relative
constexpr double kSameRate = 0.5;  // less of the bytes that were read is another rate

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

void learn_unknown(Observation& seen, const std::string& key, Dimension dimension, const std::string& evidence) {
  seen.learned.push_back(
      {.key = key, .text = "not known", .dimension = dimension, .evidence = evidence, .known = false});
}

void learn_path(Observation& seen, const std::string& folder, Confidence confidence, const std::string& evidence) {
  if (is_utf8(folder)) return learn_word(seen, "dataset.path", folder, confidence, evidence);
  learn_word(seen, "dataset.path", shell_word(folder), confidence,
             evidence + "; YAML cannot hold its bytes that are not UTF-8: name it with --data");
  seen.learned.back().known = false;
}

void compare_rates(Observation& seen) {
  const auto value = [&seen](std::string_view key) {
    for (const Learned& one : seen.learned)
      if (one.key == key && one.known) return one.value;
    return 0.0;
  };
  const double asked = ratio(value("step.micro_batch") * value("cluster.gpus_per_node") * value("dataset.sample_size"),
                             value("step.time"));
  if (asked == 0 || asked >= kSameRate * seen.bytes_per_s) return;
  seen.notes.push_back(fmt::format(
      "job.yaml asks for {} of data, and the job read {}: correct step.micro_batch, dataset.sample_size or step.time "
      "before you judge by it",
      format_quantity(asked, Dimension::bytes_per_second),
      format_quantity(seen.bytes_per_s, Dimension::bytes_per_second)));
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace headrace::observe
