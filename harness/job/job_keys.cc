// Facts on keys and sections in addition to the table.
#include "harness/job/job_keys.h"

#include <fmt/format.h>

#include "harness/base/diagnostics.h"

namespace headrace::job {

std::string_view JobKey::section() const {
  const std::size_t dot = path.find('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view JobKey::name() const { return path.substr(section().empty() ? 0 : section().size() + 1); }

std::string JobKey::unit() const {
  if (set_text) return "text";
  return choices.empty() ? std::string(unit_name(dimension)) : "word";
}

std::string JobKey::shown_default() const {
  if (!shown_fallback.empty()) return std::string(shown_fallback);
  return required ? "required" : fallback.empty() ? "not known" : std::string(fallback);
}

std::vector<JobSection> all_job_sections() {
  std::vector<JobSection> sections{{"", "at the top of the file"}};
  sections.insert(sections.end(), job_sections().begin(), job_sections().end());
  return sections;
}

std::string JobKey::allowed() const {
  if (!choices.empty()) return join(choices, " | ");
  return set_text ? "text" : range.text(dimension);
}

const JobKey* find_job_key(std::string_view path) {
  for (const JobKey& key : job_keys())
    if (key.path == path) return &key;
  return nullptr;
}

std::span<const JobSection> job_sections() {
  static const std::vector<JobSection> sections{
      {"cluster", "the machines"},
      {"step", "one optimizer step"},
      {"dataset", "reading"},
      {"loader", "how it is read"},
      {"model", "training"},
      {"parallelism", "how it is spread"},
      {"checkpoint", "left out: no checkpoint needs", [](Job& j) { j.checkpoint = Job::Checkpoint{}; }},
      {"cache", "page cache of one node; left out: no needs that count on it", [](Job& j) { j.cache = Job::Cache{}; }},
      {"local_cache", "a cache tier on each node; left out: no needs that count on it",
       [](Job& j) { j.local_cache = Job::LocalCache{}; }},
      {"object_store", "left out: the defaults for data at s3://, else no object-store needs",
       [](Job& j) { j.object_store = Job::ObjectStore{}; }},
      {"fabric", "left out: no needs of NICs and switches", [](Job& j) { j.fabric = Job::Fabric{}; }},
  };
  return sections;
}

}  // namespace headrace::job
