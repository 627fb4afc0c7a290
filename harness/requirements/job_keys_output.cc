// Writing the table of keys.
#include "harness/requirements/job_keys_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/requirements/job_keys.h"
#include "harness/requirements/wrap.h"

namespace headrace::requirements {
namespace {

std::string unit_of(const JobKey& key) {
  if (key.set_text) return "text";
  return key.choices.empty() ? std::string(unit_name(key.dimension)) : "word";
}

std::string fallback_of(const JobKey& key) {
  if (!key.shown_fallback.empty()) return std::string(key.shown_fallback);
  return key.required ? "required" : key.fallback.empty() ? "not known" : std::string(key.fallback);
}

/// Sections in order; the keys at the top come first, under "".
std::vector<JobSection> all_sections() {
  std::vector<JobSection> sections{{"", "at the top of the file"}};
  sections.insert(sections.end(), job_sections().begin(), job_sections().end());
  return sections;
}

}  // namespace

std::string job_keys_markdown() {
  std::string out;
  for (const JobSection& section : all_sections()) {
    out += section.name.empty() ? fmt::format("### At the top\n\n")
                                : fmt::format("\n### `{}`: {}\n\n", section.name, section.help);
    out += "| key | unit | allowed | default | meaning |\n|---|---|---|---|---|\n";
    for (const JobKey& key : job_keys()) {
      if (key.section() != section.name) continue;
      std::string allowed = key.allowed();
      for (std::size_t at = 0; (at = allowed.find(" | ", at)) != std::string::npos;) allowed.replace(at, 3, ", ");
      out +=
          fmt::format("| `{}` | {} | {} | {} | {} |\n", key.name(), unit_of(key), allowed, fallback_of(key), key.help);
    }
  }
  return out;
}

std::string job_keys_text() {
  std::string out;
  for (const JobSection& section : all_sections()) {
    if (!section.name.empty()) out += fmt::format("\n{}: {}\n", section.name, section.help);
    for (const JobKey& key : job_keys()) {
      if (key.section() != section.name) continue;
      const std::string meaning = fmt::format("{} ({}; {})", key.help, key.allowed(), fallback_of(key));
      out += fmt::format("  {:<22} {}\n", key.name(), wrapped(meaning, 25));
    }
  }
  return out;
}

}  // namespace headrace::requirements
