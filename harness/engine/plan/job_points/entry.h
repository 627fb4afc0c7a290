// An entry of a configuration, as the points that follow from a job are put together.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/config/document.h"
#include "harness/engine/plan/time_share.h"

namespace headrace::job_points {

class Entry {
 public:
  Entry(const char* use, const char* label) {
    value.kind = config::Value::Kind::map;
    put("use", use);
    if (*label != 0) put("label", label);
  }
  Entry& put(std::string_view key, std::string text) {
    value.set(key, config::Value::scalar(std::move(text), {"job", 0, 0}));
    return *this;
  }
  Entry& size(std::string_view key, std::uint64_t bytes) { return put(key, fmt::format("{}B", bytes)); }
  Entry& count(std::string_view key, std::uint64_t n) { return put(key, fmt::format("{}", n)); }

  /// The job has more: what that leaves unproven.
  template <typename... T>
  void open(fmt::format_string<T...> text, T&&... values) {
    unproven.push_back(fmt::format(text, std::forward<T>(values)...));
  }

  config::Value value;
  std::vector<std::string> unproven;
  std::string_view use() const { return value.find("use")->text; }
  bool is_advice() const {
    const config::Value* label = value.find("label");
    return label != nullptr && !label->text.starts_with("job");
  }

  double weight = time_share::kOwn;  // of the measuring time; 0 = it ends by itself
  bool timed = true;                 // its repetitions end after `duration`
};

}  // namespace headrace::job_points
