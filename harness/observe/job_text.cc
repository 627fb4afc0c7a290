#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/base/code_points.h"
#include "harness/base/printable.h"
#include "harness/observe/observation.h"

namespace headrace::observe {
namespace {

constexpr std::array<std::string_view, 6> kSections{"cluster", "step", "dataset", "loader", "model", "checkpoint"};

/// A comment: in lines of its own, with any content.
std::string comment(const std::string& text, const std::string& indent) {
  constexpr std::size_t kWidth = 110;
  std::string out, line;
  const std::string plain = printable(text);
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t blank = std::min(plain.find(' ', at), plain.size());
    const std::string word = plain.substr(at, blank - at);
    if (!line.empty() && line.size() + 1 + word.size() > kWidth) {
      out += indent + "# " + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = blank + 1;
  }
  return out + indent + "# " + line + "\n";
}

std::string bounds(const Learned& one) {
  if (one.dimension == Dimension::text || one.confidence == Confidence::guess || one.high <= one.low) return "";
  return fmt::format(" [{}, {}]", compact_quantity(one.low, one.dimension, 3),
                     compact_quantity(one.high, one.dimension, 3));
}

/// Text of UTF-8 in YAML's double quotes: its readers get the same text, with line breaks, too.
std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Character c = first_character(text);
    const std::string_view one = text.substr(0, std::max<std::size_t>(c.size, 1));
    if (one == "\"" || one == "\\") out += '\\';
    // YAML has no pairs of surrogates.
    out += c.code > 0xffff && printable(one) != one ? fmt::format("\\U{:08x}", c.code) : printable(one);
    text.remove_prefix(one.size());
  }
  return out + "\"";
}

}  // namespace

std::string job_text(const Recording& recording, const Observation& seen, const std::string& name) {
  std::string out = comment(
      fmt::format("Learned by 'headrace observe' from {} of watching {} process{}, batches being taken for {}. "
                  "'guess': not seen; put in what you know.",
                  format_duration(recording.elapsed_s), recording.processes.size(),
                  recording.processes.size() == 1 ? "" : "es", format_duration(seen.roles.end_s - seen.roles.begin_s)),
      "");
  for (const std::string& note : seen.notes) out += comment(note, "");
  out += "schema: 1\njob: " + double_quoted(printable(name)) + "\n";
  for (const std::string_view section : kSections) {
    bool begun = false;
    for (const Learned& one : seen.learned) {
      const std::size_t dot = one.key.find('.');
      if (one.key.substr(0, dot) != section) continue;
      if (!begun) out += fmt::format("{}:\n", section);
      begun = true;
      out += comment(fmt::format("{}{}: {}", to_string(one.confidence), bounds(one), one.evidence), "  ");
      const bool free_text = one.key == "dataset.path";
      const std::string key = one.key.substr(dot + 1);
      // Nothing replaces an unknown value: without it a job is refused, or the value is taken as 0.
      out += one.known ? fmt::format("  {}: {}\n", key, free_text ? double_quoted(one.text) : one.text)
                       : fmt::format("  # {}: {}\n", key, free_text ? "--data " + one.text : "put in what you know");
    }
  }
  return out;
}

}  // namespace headrace::observe
