// A YAML document in which every value keeps its place, so that an error can point at it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/diagnostics.h"

namespace headrace::config {

/// A scalar, list or map read from YAML. Scalars keep their text as written: the reader parses units.
struct Value {
  enum class Kind { null, scalar, list, map };
  struct Entry;

  Kind kind = Kind::null;
  std::string text;            // scalar
  std::vector<Value> items;    // list
  std::vector<Entry> entries;  // map, in file order, keys unique
  Location where;

  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_list() const { return kind == Kind::list; }
  bool is_map() const { return kind == Kind::map; }
  bool is_null() const { return kind == Kind::null; }

  /// The entry's value, or nullptr; only for maps (nullptr otherwise).
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  /// Replaces or appends.
  void set(std::string_view key, Value value);

  static Value scalar(std::string text, Location where);
};

struct Value::Entry {
  std::string key;
  Location key_where;
  Value value;
};

/// Parses `text`. Syntax errors and duplicate keys are added to `problems`; anchors and aliases are
/// resolved.
Value parse_yaml(std::string_view text, const std::string& file_name, Diagnostics& problems);

/// Reads and parses a file; a file that cannot be read is a problem, not an exception.
Value read_yaml(const std::string& path, Diagnostics& problems);

/// Writes block-style YAML that parse_yaml reads back to the same tree.
std::string to_yaml(const Value& value);

/// Applies "a.b.c=text" to `root`, making maps on the way; "a.0.b" indexes lists. The text is
/// parsed as YAML, so lists and quoted strings work. A path through a scalar, or an index out of
/// range, is a problem.
void apply_override(Value& root, std::string_view assignment, Diagnostics& problems);

}  // namespace headrace::config
