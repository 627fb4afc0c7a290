// Layering, overriding and substitution of configurations.
#include "harness/base/config/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace headrace::config {
namespace {

namespace fs = std::filesystem;

/// `near` over `far`: maps key by key, everything else whole.
Value merged(Value far, Value near) {
  if (!far.is_map() || !near.is_map()) return near;
  for (Value::Entry& entry : near.entries) {
    Value* below = far.find(entry.key);
    if (below == nullptr) {
      far.entries.push_back(std::move(entry));
    } else {
      *below = merged(std::move(*below), std::move(entry.value));
    }
  }
  far.where = near.where;
  return far;
}

void remove_key(Value& map, std::string_view key) {
  std::erase_if(map.entries, [&](const Value::Entry& e) { return e.key == key; });
}

bool has_own_key(const Value& map) {
  return map.find("extends") != nullptr ||
         std::any_of(kConfigurationKeys.begin(), kConfigurationKeys.end(),
                     [&](const std::string& key) { return map.find(key) != nullptr; });
}

/// `asked_at`: where another file extends this one.
Value load_with_profiles(const std::string& file, const Location* asked_at, std::vector<std::string> chain,
                         Diagnostics& problems) {
  Diagnostics own;
  Value value = read_yaml(file, own);
  if (asked_at != nullptr && own.empty() && !value.is_map())
    own.error({file, 0, 0}, value.is_null() ? "is empty" : "is no configuration: it must be a map of keys");
  if (asked_at != nullptr && value.is_map() && !has_own_key(value)) {
    own = Diagnostics();  // which may repeat its lines
    own.error({file, 0, 0}, "is no configuration: none of its keys is known (keys: " + join(kConfigurationKeys) + ")");
    value.entries.clear();
  }
  for (const Diagnostic& problem : own.errors()) {
    const bool of_all = asked_at != nullptr && problem.where.line == 0;  // of the file that names it
    problems.error(of_all ? *asked_at : problem.where, of_all ? "extends: " + to_string(problem) : problem.text);
  }
  const Value* extends = value.find("extends");
  if (extends == nullptr) return value;
  const Location where = extends->where;
  if (!extends->is_scalar()) {
    problems.error(where, "extends: must be the path of one file");
    return value;
  }
  const std::string base = (fs::path(file).parent_path() / extends->text).lexically_normal().string();
  remove_key(value, "extends");
  chain.push_back(fs::path(file).lexically_normal().string());
  if (std::find(chain.begin(), chain.end(), base) != chain.end()) {
    problems.error(where, fmt::format("extends: goes round in a circle: {} -> {}", join(chain, " -> "), base));
    return value;
  }
  return merged(load_with_profiles(base, &where, std::move(chain), problems), std::move(value));
}

std::string put_in(const Value& value, const std::map<std::string, std::string>& names, const std::string& hint,
                   Diagnostics& problems) {
  std::string result;
  std::size_t at = 0;
  for (;;) {
    const std::size_t open = value.text.find("${", at);
    if (open == std::string::npos) return result + value.text.substr(at);
    const std::size_t close = value.text.find('}', open);
    result += value.text.substr(at, open - at);
    if (close == std::string::npos) {
      problems.error(value.where, fmt::format("'{}': ${{ without its }}", value.text));
      return result;
    }
    std::string name = value.text.substr(open + 2, close - open - 2);
    std::string fallback;
    const std::size_t dash = name.find(":-");
    const bool has_fallback = dash != std::string::npos;
    if (has_fallback) {
      fallback = name.substr(dash + 2);
      name.resize(dash);
    }
    if (const auto found = names.find(name); found != names.end()) {
      result += found->second;
    } else if (has_fallback) {
      result += fallback;
    } else {
      std::vector<std::string> known;
      for (const auto& entry : names) known.push_back(entry.first);
      problems.error(value.where, fmt::format("${{{}}} is not known{}{}", name, did_you_mean(name, known),
                                              hint.empty() ? "" : " (" + hint + ")"));
    }
    at = close + 1;
  }
}

}  // namespace

Value load_layers(const std::string& file, const std::vector<std::string>& overrides, Diagnostics& problems) {
  Value value = load_with_profiles(file, nullptr, {}, problems);
  if (value.is_null()) value.kind = Value::Kind::map;
  if (!value.is_map()) {
    problems.error(value.where, "must be a map of keys (schema, workloads ...)");
    value = Value{};
    value.kind = Value::Kind::map;
    value.where.file = file;
  }
  for (const std::string& assignment : overrides) apply_override(value, assignment, problems);
  return value;
}

void substitute(Value& value, const std::map<std::string, std::string>& names, const std::string& hint,
                Diagnostics& problems) {
  switch (value.kind) {
    case Value::Kind::scalar:
      if (value.text.find("${") != std::string::npos) value.text = put_in(value, names, hint, problems);
      break;
    case Value::Kind::list:
      for (Value& item : value.items) substitute(item, names, hint, problems);
      break;
    case Value::Kind::map:
      for (Value::Entry& entry : value.entries) substitute(entry.value, names, hint, problems);
      break;
    case Value::Kind::null:
      break;
  }
}

}  // namespace headrace::config
