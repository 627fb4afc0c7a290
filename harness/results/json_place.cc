#include "harness/results/json_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/results/json_line.h"

namespace headrace::results {
namespace {

using PlainJson = nlohmann::json;

constexpr std::size_t kDeepest = 100, kMostValues = 16'000'000;  // headrace writes 12, and some 100,000

/// The letters and signs around a byte counted from 1: the parser's error.
std::string_view word_at(std::string_view text, std::size_t byte) {
  const auto part = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '+'; };
  std::size_t begin = std::min(byte > 0 ? byte - 1 : 0, text.size()), end = begin;
  while (begin > 0 && part(static_cast<unsigned char>(text[begin - 1]))) --begin;
  while (end < text.size() && part(static_cast<unsigned char>(text[end]))) ++end;
  return text.substr(begin, end - begin);
}

std::string why_none(std::string_view text, const PlainJson::parse_error& error) {
  if (error.byte > text.size()) return "the file ends in the middle (truncated)";
  const std::string_view word = word_at(text, error.byte);
  for (const std::string_view no_number : {"NaN", "nan", "Infinity", "-Infinity", "inf", "-inf"})
    if (word == no_number) return fmt::format("{} is not a number: a run file holds only finite values", word);
  std::string why = error.what();  // "[json.exception...] parse error at line 1, column 2: ..."
  if (const std::size_t colon = why.find(": "); colon != why.npos) why.erase(0, colon + 2);
  std::replace(why.begin(), why.end(), '\n', ' ');
  return "not JSON: " + why;
}

/// A value as a message shows it.
std::string describe(const PlainJson& value) {
  std::string text = value.dump(-1, ' ', false, PlainJson::error_handler_t::replace);
  return text.size() <= 40 ? text : text.substr(0, 37) + "...";
}

}  // namespace

JsonError::JsonError(int line, int column, const std::string& why)
    : UsageError(fmt::format("line {}, column {}: {}", line, column, why)), line_(line), column_(column), why_(why) {}

JsonError::JsonError(std::string place, const std::string& why)
    : UsageError((place.empty() ? "the file" : place) + ": " + why), place_(std::move(place)), why_(why) {}

std::string JsonError::place_in(const std::string& file, std::string_view text) const {
  TextLine at{line_, column_};
  if (line_ == 0) at = line_of(text, byte_of(text, place_));
  return fmt::format("{}:{}:{}: {}{}{}", file, at.line, at.column, place_, place_.empty() ? "" : ": ", why_);
}

PlainJson parse_json(std::string_view text, const std::vector<std::string>& ignored) {
  if (text.find_first_not_of(" \t\r\n") == text.npos) throw UsageError("the file is empty");
  std::vector<std::set<std::string>>
      keys;  // of the objects that are open, by depth: the end of an ignored one is not reported
  std::size_t values = 0;
  const auto watch = [&](int reported, PlainJson::parse_event_t event, PlainJson& parsed) {
    const auto depth = static_cast<std::size_t>(reported);
    if (depth > kDeepest) throw UsageError(fmt::format("values lie in each other more than {} deep", kDeepest));
    if (++values > kMostValues)
      throw UsageError(fmt::format("has more than {} million values", kMostValues / 1'000'000));
    if (event == PlainJson::parse_event_t::object_start) {
      keys.resize(depth);
      keys.emplace_back();
    }
    if (event != PlainJson::parse_event_t::key) return true;
    const std::string& key = parsed.get_ref<const std::string&>();
    if (!keys[depth - 1].insert(key).second) throw UsageError("key \"" + key + "\" is twice in one object");
    return std::find(ignored.begin(), ignored.end(), key) == ignored.end();
  };
  try {
    return PlainJson::parse(text.begin(), text.end(), watch);
  } catch (const PlainJson::parse_error& e) {
    const TextLine at = line_of(text, e.byte > 0 ? e.byte - 1 : 0);  // the parser counts from 1
    throw JsonError(at.line, at.column, why_none(text, e));
  } catch (const PlainJson::out_of_range& e) {
    std::string why = e.what();
    const std::size_t quote = why.find('\'');
    throw UsageError((quote == why.npos ? why : why.substr(quote)) + " is too large to be a number");
  }
}

void JsonPlace::refuse(const std::string& why) const { throw JsonError(place_, why); }

void JsonPlace::expected(const char* what) const { refuse(fmt::format("{}: {} is expected", describe(*value_), what)); }

JsonPlace JsonPlace::at(std::string_view key) const {
  if (!value_->is_object()) expected("an object");
  const auto found = value_->find(std::string(key));
  const std::string place = place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key);
  if (found == value_->end()) throw JsonError(place, "missing");
  return JsonPlace(*found, place);
}

bool JsonPlace::has(std::string_view key) const {
  if (!value_->is_object()) expected("an object");
  const auto found = value_->find(std::string(key));
  return found != value_->end() && !found->is_null();
}

double JsonPlace::number() const {
  if (!value_->is_number()) expected("a number");
  return value_->get<double>();
}

std::uint64_t JsonPlace::whole() const {
  if (value_->is_number_unsigned()) return value_->get<std::uint64_t>();
  const double number = value_->is_number_float() ? value_->get<double>() : -1;
  if (number < 0 || number >= 0x1p64 || std::floor(number) != number) expected("a whole number of at least 0");
  return static_cast<std::uint64_t>(number);
}

bool JsonPlace::flag() const {
  if (!value_->is_boolean()) expected("true or false");
  return value_->get<bool>();
}

std::string JsonPlace::text() const {
  if (!value_->is_string()) expected("a text");
  return value_->get<std::string>();
}

std::string JsonPlace::word() const {
  if (value_->is_string()) return value_->get<std::string>();
  if (value_->is_boolean()) return value_->get<bool>() ? "true" : "false";
  if (value_->is_number_unsigned()) return fmt::format("{}", value_->get<std::uint64_t>());
  if (value_->is_number()) return fmt::format("{}", value_->get<double>());
  expected("a text, number or truth value");
}

std::vector<double> JsonPlace::numbers() const {
  std::vector<double> all;
  each([&](const JsonPlace& item) { all.push_back(item.number()); });
  return all;
}

std::vector<std::string> JsonPlace::texts() const {
  std::vector<std::string> all;
  each([&](const JsonPlace& item) { all.push_back(item.text()); });
  return all;
}

void JsonPlace::each(const std::function<void(const JsonPlace&)>& visit) const {
  if (!value_->is_array()) expected("a list");
  for (std::size_t i = 0; i < value_->size(); ++i) visit(JsonPlace((*value_)[i], fmt::format("{}[{}]", place_, i)));
}

void JsonPlace::each_member(const std::function<void(const std::string&, const JsonPlace&)>& visit) const {
  if (!value_->is_object()) expected("an object");
  for (const auto& [key, value] : value_->items())
    visit(key, JsonPlace(value, place_.empty() ? key : place_ + "." + key));
}

double JsonPlace::number(std::string_view key, double fallback) const { return has(key) ? at(key).number() : fallback; }
std::uint64_t JsonPlace::whole(std::string_view key, std::uint64_t fallback) const {
  return has(key) ? at(key).whole() : fallback;
}
bool JsonPlace::flag(std::string_view key, bool fallback) const { return has(key) ? at(key).flag() : fallback; }
std::string JsonPlace::text(std::string_view key, std::string_view fallback) const {
  return has(key) ? at(key).text() : std::string(fallback);
}

}  // namespace headrace::results
