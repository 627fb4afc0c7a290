// A JSON document read strictly: every value knows its place, and a wrong one is reported with it.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/diagnostics.h"

namespace headrace::results {

/// An error in a JSON document. what() begins with the line and column, or the place.
class JsonError : public UsageError {
 public:
  /// For a text that does not parse: lines and columns count from 1, 0 where that is unknown.
  JsonError(int line, int column, const std::string& why);
  /// For a value: "nodes[0].state", "" = the document itself.
  JsonError(std::string place, const std::string& why);

  /// "FILE:3:7: nodes[0].state: why". `text`: of the document, which has been the same when it was refused.
  std::string place_in(const std::string& file, std::string_view text) const;

 private:
  int line_ = 0, column_ = 0;
  std::string place_, why_;
};

/// Parses strict JSON: no NaN, infinity or repeated key in one object, at most 100 levels and 16 million values.
/// Objects' members named in `ignored` are read over. Throws JsonError: "line 3, column 7: ...", or that the text ends
/// in the middle; UsageError where it is none at a place.
nlohmann::json parse_json(std::string_view text, const std::vector<std::string>& ignored = {});

/// One value of a document, and where it is ("points[0].metrics[2].median"). Refers to the document, which must live
/// on. Every read of a missing value, or of another type, throws JsonError that names the place.
class JsonPlace {
 public:
  explicit JsonPlace(const nlohmann::json& value, std::string place = "") : value_(&value), place_(std::move(place)) {}

  /// A member that must be there.
  JsonPlace at(std::string_view key) const;
  /// Is there such a member, and not null?
  bool has(std::string_view key) const;

  double number() const;
  std::uint64_t whole() const;
  bool flag() const;
  std::string text() const;
  /// A text, or a number or truth value as text.
  std::string word() const;
  std::vector<double> numbers() const;
  std::vector<std::string> texts() const;

  /// Calls for every item of a list, or every member of an object, in the file's order (members: by
  /// name).
  void each(const std::function<void(const JsonPlace&)>& visit) const;
  void each_member(const std::function<void(const std::string&, const JsonPlace&)>& visit) const;

  // Members that may be absent.
  double number(std::string_view key, double fallback) const;
  std::uint64_t whole(std::string_view key, std::uint64_t fallback) const;
  bool flag(std::string_view key, bool fallback) const;
  std::string text(std::string_view key, std::string_view fallback) const;

  const nlohmann::json& value() const { return *value_; }
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  [[noreturn]] void expected(const char* what) const;
  const nlohmann::json* value_;
  std::string place_;
};

}  // namespace headrace::results
