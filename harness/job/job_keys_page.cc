// Writing the table of keys.
#include "harness/job/job_keys_page.h"

#include <fmt/format.h>

#include "harness/job/job_keys.h"

namespace headrace::job {
std::string job_keys_markdown() {
  std::string out;
  for (const JobSection& section : all_job_sections()) {
    out += section.name.empty() ? fmt::format("### At the top\n\n")
                                : fmt::format("\n### `{}`: {}\n\n", section.name, section.help);
    out += "| key | unit | allowed | default | meaning |\n|---|---|---|---|---|\n";
    for (const JobKey& key : job_keys()) {
      if (key.section() != section.name) continue;
      std::string allowed = key.allowed();
      for (std::size_t at = 0; (at = allowed.find(" | ", at)) != std::string::npos;) allowed.replace(at, 3, ", ");
      out +=
          fmt::format("| `{}` | {} | {} | {} | {} |\n", key.name(), key.unit(), allowed, key.shown_default(), key.help);
    }
  }
  return out;
}

}  // namespace headrace::job
