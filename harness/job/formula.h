// One formula of the reference: a pure function, registered with everything a reader needs to check
// it.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/units.h"
#include "harness/job/range.h"

namespace headrace::job {

/// One input, named with its unit ("sample_rate_per_s", "cache_hit_ratio"), which gives its
/// dimension. The default range is 0 and more; the calls narrow it: `Input("cache_hit_ratio",
/// "h").at_most(1).otherwise(0)`.
struct Input {
  /// `symbol` is its name in the equation. Aborts on a name whose ending is no known unit.
  Input(std::string_view name, std::string_view symbol);
  Input at_least(double bound) const;
  Input above(double bound) const;
  Input at_most(double bound) const;
  Input below(double bound) const;
  Input otherwise(double value) const;                 // the default; without one the input must be given
  Input whole() const;                                 // a whole number of at least 1
  Input one_of(std::vector<std::string> words) const;  // text: the argument is the index into `words`
  Input each() const;                                  // a list of such numbers

  std::string_view name;
  std::string_view symbol;
  Dimension dimension = Dimension::count;
  Range range;
  bool list = false;
  std::optional<double> fallback;
  std::vector<std::string> choices;

  /// "0..1", "above 0", "a whole number, at least 1", "all_reduce | broadcast": what a value must
  /// be.
  std::string allowed() const;
  /// "B", "s list", "word".
  std::string unit() const;
  /// With its unit; "" where it must be given.
  std::string shown_default() const;
};

/// One argument as a formula receives it. Text inputs arrive as the index of the choice, yes and no
/// as 1 and 0.
struct Argument {
  double number = 0;
  std::vector<double> list = {};
};

/// The result of a formula; text only for verdicts.
struct Result {
  double number = 0;
  std::string text = {};
};

struct Formula {
  std::string_view id = {};        // "A3"
  std::string_view name = {};      // "read_bandwidth_required"
  std::string_view title = {};     // one line
  std::string_view equation = {};  // ASCII, in the inputs' symbols: "R * S * alpha * (1 - h)"
  std::string_view unit = {};      // of the result, as in the vectors: "B/s", "count", "ratio", "verdict"
  std::string_view validity = {};  // when it holds
  std::string_view source = {};
  std::vector<Input> inputs = {};
  std::string_view example = {};  // as typed: "sample_rate_per_s=10240 sample_bytes=130kB"
  /// The bare function behind one signature, all arguments in order; call evaluate() below, which
  /// checks them.
  Result (*function)(std::span<const Argument> arguments) = nullptr;

  const Input* find_input(std::string_view name) const;
};

/// An input outside its range, or a combination outside the formula's domain: rejected, never an
/// infinity or NaN.
class DomainError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// All formulas in the order of the reference. find_formula takes the name or the id; nullptr when
/// there is none.
std::span<const Formula> all_formulas();
const Formula* find_formula(std::string_view name_or_id);

/// Evaluates with one argument per input, in order. Throws DomainError naming the input, its value and its range, or
/// the formula when the result overflows.
Result evaluate(const Formula& formula, std::span<const Argument> arguments);

/// A formula with its arguments, defaults filled in, and its result.
struct Applied {
  const Formula* formula = nullptr;
  std::vector<Argument> arguments;
  Result result;
  double value() const { return result.number; }
};

using NamedValue = std::pair<std::string_view, double>;

/// Computes with a formula by input names: apply("A3", {{"sample_rate_per_s", r}, {"sample_bytes",
/// s}}).value(). Throws DomainError as evaluate() does; an unknown formula or input, or a missing
/// one, is our own bug and aborts.
Applied apply(std::string_view name_or_id, std::span<const NamedValue> values);
Applied apply(std::string_view name_or_id, std::initializer_list<NamedValue> values);

/// The equation with its inputs' names for symbols: "sample rate * sample bytes * read amplification * (1 - cache hit)".
std::string named(const Formula& formula);
/// A name of an input without the ending that gives its unit: "cache hit".
std::string plain_name(const Input& input);

/// The equation with numbers for symbols: "10240/s * 130 kB * 1 * (1 - 0)".
std::string substituted(const Formula& formula, std::span<const Argument> arguments);

/// The dimension that a unit of the vectors names: "B/s" -> bytes_per_second; any for "verdict".
Dimension dimension_of_unit(std::string_view unit);

}  // namespace headrace::job
