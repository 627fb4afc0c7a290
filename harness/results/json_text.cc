#include "harness/results/json_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/error.h"

namespace headrace::results {
namespace {

using Json = nlohmann::ordered_json;

bool plain(const Json& value) { return !value.is_structured() || value.empty(); }

/// Fits on one line: a list of plain values, or of lists of plain values (histogram buckets).
bool flat(const Json& list) {
  return std::all_of(list.begin(), list.end(), [](const Json& item) {
    return plain(item) || (item.is_array() && std::all_of(item.begin(), item.end(), plain));
  });
}

class Writer {
 public:
  std::string operator()(const Json& value) {
    write(value, 0);
    text_ += '\n';
    return std::move(text_);
  }

 private:
  void write(const Json& value, int depth) {
    if (value.is_number_float() && !std::isfinite(value.get<double>())) {
      throw RunError("cannot write " + path_ + ": the value is not a finite number");
    }
    if (plain(value)) {
      // Names of files may hold any bytes: bytes that are not UTF-8 become the replacement character.
      text_ += value.dump(-1, ' ', false, Json::error_handler_t::replace);
    } else if (value.is_object()) {
      write_object(value, depth);
    } else {
      write_list(value, depth);
    }
  }

  void write_object(const Json& object, int depth) {
    const std::size_t outer = path_.size();
    const char* separator = "{";
    for (const auto& [key, value] : object.items()) {
      text_ += separator;
      line(depth + 1);
      text_ += Json(key).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ";
      path_ += "/" + key;
      write(value, depth + 1);
      path_.resize(outer);
      separator = ",";
    }
    line(depth);
    text_ += '}';
  }

  void write_list(const Json& list, int depth) {
    const bool one_line = flat(list);
    const char* separator = "[";
    for (const Json& value : list) {
      text_ += separator;
      if (!one_line) line(depth + 1);
      write(value, depth + 1);
      separator = one_line ? ", " : ",";
    }
    if (!one_line) line(depth);
    text_ += ']';
  }

  void line(int depth) {
    text_ += '\n';
    text_.append(static_cast<std::size_t>(depth), ' ');
  }

  std::string text_, path_;
};

}  // namespace

std::string json_text(const Json& value) { return Writer()(value); }

}  // namespace headrace::results
