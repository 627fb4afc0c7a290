// One formula of the reference: a pure function, registered with everything a reader needs to check it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/units.h"

namespace headrace::requirements {

/// One input, named as in the golden vectors ("sample_rate_per_s", "cache_hit_ratio").
struct Input {
  std::string_view name;
  Dimension dimension = Dimension::count;
  double min = 0;
  double max = 1e300;
  bool min_excluded = false;
  bool max_excluded = false;
  std::optional<double> fallback = std::nullopt;  // none = must be given
  bool integer = false;
  std::vector<std::string> choices = {};          // text inputs: the value is the index into this
  bool list = false;                              // a list of numbers (capacity tiers)
};

/// One argument as a formula function receives it. Text inputs arrive as the index of the choice.
struct Argument {
  double number = 0;
  std::vector<double> list;
};

/// What a formula says; text only for verdicts.
struct Result {
  double number = 0;
  std::string text;
};

struct Formula {
  std::string_view id;        // "A3"
  std::string_view name;      // "read_bandwidth_required"
  std::string_view title;     // one line
  std::string_view equation;  // ASCII: "R * S * alpha * (1 - h)"
  std::string_view unit;      // output unit as in the vectors: "B/s", "count", "ratio", "verdict"
  std::string_view validity;
  std::string_view source;
  std::vector<Input> inputs;
  /// Called with one argument per input, in order, all in range. Throws DomainError for what ranges cannot say.
  Result (*evaluate)(std::span<const Argument> arguments);
};

/// A combination of inputs outside the formula's domain: a rejected input, never an infinity or NaN.
class DomainError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// All formulas in the order of the reference. find() takes the name or the id.
std::span<const Formula> all_formulas();
const Formula* find_formula(std::string_view name_or_id);

/// `const RegisterFormula a3{{"A3", ...}};` at namespace scope, beside the function.
struct RegisterFormula {
  explicit RegisterFormula(Formula formula);
};

}  // namespace headrace::requirements
