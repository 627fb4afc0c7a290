#include "benches/headrace/settings.h"

#include <algorithm>
#include <cctype>

namespace headrace::cli {
namespace {

/// "step.time=100ms": a key of a file, not a path that has a = in it.
bool is_setting(const std::string& word) {
  const std::size_t end = word.find('=');
  if (end == 0 || end == word.npos) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(end),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
}

}  // namespace

std::vector<std::string> each_setting_alone(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  bool after_setting = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      out.insert(out.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      return out;
    }
    if (words[i] == "--set" && i + 1 < words.size()) {
      out.insert(out.end(), {words[i], words[i + 1]});
      ++i;
      after_setting = true;
    } else if (after_setting && is_setting(words[i])) {
      out.insert(out.end(), {"--set", words[i]});
    } else {
      out.push_back(words[i]);
      after_setting = words[i].starts_with("--set=");
    }
  }
  return out;
}

}  // namespace headrace::cli
