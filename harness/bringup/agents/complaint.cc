#include "harness/bringup/agents/complaint.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace headrace::agents {
namespace {

constexpr std::string_view kOwn = "headrace: ";
constexpr std::size_t kFrame = 74;  // dashes of a line that Open MPI draws

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

bool says_something(const std::string& line) {
  return std::any_of(line.begin(), line.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
}

bool is_frame(const std::string& line) { return line.size() == kFrame && line.find_first_not_of('-') == line.npos; }

/// "" = there is none.
std::string first_framed(const std::vector<std::string>& lines) {
  std::string paragraph;
  for (auto line = std::find_if(lines.begin(), lines.end(), is_frame); line != lines.end(); ++line) {
    const std::size_t begin = line->find_first_not_of(" \t");
    if (says_something(*line))
      paragraph += (paragraph.empty() ? "" : " ") + line->substr(begin);
    else if (!paragraph.empty())
      break;
  }
  return paragraph;
}

}  // namespace

std::string complaint_in(const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  for (const std::string& line : lines)
    if (line.starts_with(kOwn)) return line.substr(kOwn.size());
  if (std::string framed = first_framed(lines); !framed.empty()) return framed;
  const auto last = std::find_if(lines.rbegin(), lines.rend(), says_something);
  return last == lines.rend() ? "" : *last;
}

}  // namespace headrace::agents
