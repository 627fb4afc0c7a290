#include "harness/bringup/asking.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace headrace::bringup {
namespace {

constexpr std::size_t kLongestWhy = 2000;  // bytes of an agent's error that are kept
constexpr std::size_t kLongestAnswer = 16 << 10, kLongestFacts = 256 << 10;

/// How long an answer may be: it is kept, or goes on to another host. The crowd bounds a run file.
bool is_too_long(const std::string& answer, const nlohmann::json& request) {
  const auto what = request.value("do", "");
  return what != "run" && answer.size() > (what == "facts" ? kLongestFacts : kLongestAnswer);
}

}  // namespace

Asking::Asking(agents::Crowd& crowd, const std::vector<unsigned>& part) : crowd_(crowd), part_(part) {
  for (std::size_t i = 0; i < part.size(); ++i) member_[part[i]] = i;
}

std::map<unsigned, Answer> Asking::operator()(const std::map<unsigned, nlohmann::json>& requests, double timeout_s) {
  std::map<std::size_t, std::string> lines;
  for (const auto& [node, json] : requests) lines[member(node)] = json.dump();
  std::map<unsigned, Answer> answers;
  for (auto& [place, reply] : crowd_.ask(lines, timeout_s)) {
    Answer& answer = answers[part_[place]];
    answer.why = reply.why;
    answer.asked_s = reply.asked_s;
    answer.came_s = reply.came_s;
    if (!answer.why.empty()) continue;
    if (is_too_long(reply.text, requests.at(part_[place]))) {
      answer.why = fmt::format("its agent's answer has {} bytes, which is too many", reply.text.size());
      answer.own = true;
      continue;
    }
    nlohmann::json json = nlohmann::json::parse(reply.text, nullptr, false);
    if (!json.is_object()) answer.why = "its agent's answer cannot be read";
    if (json.is_object() && json.contains("error"))
      answer.why = json["error"].is_string() ? json["error"].get<std::string>().substr(0, kLongestWhy)
                                             : "its agent cannot do it";
    answer.own = !json.is_object() || json.contains("own");
    answer.json = std::make_shared<const nlohmann::json>(std::move(json));
  }
  return answers;
}

}  // namespace headrace::bringup
