// The file of expected hosts.
#include <fmt/format.h>

#include <set>
#include <sstream>

#include "harness/base/diagnostics.h"
#include "harness/base/printable.h"
#include "harness/fleet/fleet.h"

namespace headrace::fleet {

std::vector<Host> read_hosts(const std::string& path) {
  std::string text;
  try {
    text = results::file_text(path);
  } catch (const UsageError& e) {
    throw UsageError(path + ": " + e.what());
  }
  std::vector<Host> hosts;
  std::set<std::string> names;
  std::string line, problems;
  const auto problem = [&](int number, const std::string& what) {
    problems += (problems.empty() ? "" : "\n") + printable(fmt::format("{}:{}: {}", path, number, what));
  };
  std::istringstream lines(text);
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    Host host;
    if (!(words >> host.name)) continue;
    if (!names.insert(host.name).second) problem(number, "a second line for " + host.name);
    for (std::string word; words >> word;) {
      const std::size_t equal = word.find('=');
      if (equal == std::string::npos || equal == 0 || equal + 1 == word.size()) {
        problem(number, fmt::format("'{}' is no key=value, as in rack=r1", word));
      } else if (!host.attributes.emplace(word.substr(0, equal), word.substr(equal + 1)).second) {
        problem(number, "a second " + word.substr(0, equal));
      }
    }
    hosts.push_back(std::move(host));
  }
  if (hosts.empty() && problems.empty()) problem(1, "no host in it");
  if (!problems.empty()) throw UsageErrors(problems);
  return hosts;
}

}  // namespace headrace::fleet
