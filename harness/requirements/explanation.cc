// Telling which keys would unlock which needs.
#include "harness/requirements/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/base/diagnostics.h"
#include "harness/requirements/job_keys.h"
#include "harness/requirements/wrap.h"

namespace headrace::requirements {

std::string locked_text(const Job& job) {
  const auto locked = locked_needs(job);
  if (locked.empty()) return "Every need of this job has its inputs.\n";
  // Needs that wait for the same keys are told together.
  std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> groups;
  for (const LockedNeed& need : locked) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == need.missing; });
    if (group == groups.end()) group = groups.insert(groups.end(), {need.missing, {}});
    if (std::find(group->second.begin(), group->second.end(), need.id) == group->second.end())
      group->second.push_back(need.id);
  }
  std::string out = "More needs follow when these keys are given:\n";
  for (const auto& [keys, needs] : groups) {
    out += '\n';
    for (const std::string& need : needs) out += fmt::format("{}\n", need);
    for (const std::string& path : keys) {
      const JobKey* key = find_job_key(path);
      const std::string about = fmt::format("{} ({})", key ? key->help : "", key ? key->allowed() : "");
      out += fmt::format("  {:<32}{}\n", path, wrapped(about, 34));
    }
  }
  return out;
}

}  // namespace headrace::requirements
