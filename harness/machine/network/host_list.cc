#include "harness/machine/network/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "harness/base/diagnostics.h"

namespace headrace {

std::string compressed(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::map<std::pair<std::string, std::size_t>, std::vector<std::uint64_t>> numbered;  // by prefix and digits
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    const std::size_t end = name.find_last_not_of("0123456789") + 1;
    const std::size_t digits = name.size() - end;
    if (end == 0 || digits == 0 || digits > 18)
      parts.push_back(name);
    else
      numbered[{name.substr(0, end), digits}].push_back(std::stoull(name.substr(end)));
  }
  // Numbers that begin with no zero belong together, however long they are.
  std::map<std::string, std::vector<std::string>> ranges;
  for (const auto& one : numbered) {
    const auto& [prefix, digits] = one.first;
    const std::vector<std::uint64_t>& numbers = one.second;
    for (std::size_t i = 0; i < numbers.size();) {
      std::size_t last = i;
      while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
      std::string range = fmt::format("{:0{}}", numbers[i], digits);
      if (last > i) range += fmt::format("-{:0{}}", numbers[last], digits);
      ranges[prefix].push_back(std::move(range));
      i = last + 1;
    }
  }
  for (const auto& [prefix, of] : ranges)
    parts.push_back(of.size() == 1 && of.front().find('-') == std::string::npos
                        ? prefix + of.front()
                        : fmt::format("{}[{}]", prefix, join(of, ",")));
  std::sort(parts.begin(), parts.end());
  return join(parts, ",");
}

}  // namespace headrace
