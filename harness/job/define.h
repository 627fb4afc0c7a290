// How a formula's file registers it: the typed function, and a record for its readers.
//
//   /// W = R * S * alpha * (1 - h) [B/s]: ...
//   double read_bandwidth_required(double rate, double sample, double amplification, double hit) {
//   ... } const Define<read_bandwidth_required> a3{{.id = "A3", .name = ..., .inputs =
//   {{"sample_rate_per_s", "R"}, ...}}};
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "harness/job/formula.h"

namespace headrace::job {

/// Adds to the registry. Aborts on a second formula of that id or name, or when `arity` is not the number of inputs.
void add_formula(Formula formula, std::size_t arity);

/// A function's parameter from an argument: numbers, yes and no, choices (an enum in the order of
/// the words), lists.
template <class T>
decltype(auto) parameter(const Argument& argument) {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Plain, std::vector<double>>)
    return static_cast<const std::vector<double>&>(argument.list);
  else if constexpr (std::is_same_v<Plain, bool>)
    return argument.number != 0;
  else if constexpr (std::is_enum_v<Plain>)
    return static_cast<Plain>(static_cast<int>(argument.number));
  else
    return static_cast<double>(argument.number);
}

template <class R, class... T>
constexpr std::size_t arity_of(R (*)(T...)) {
  return sizeof...(T);
}

template <auto function, class R, class... T, std::size_t... I>
Result call(R (*)(T...), std::index_sequence<I...>, std::span<const Argument> arguments) {
  if constexpr (std::is_arithmetic_v<R>)
    return {function(parameter<T>(arguments[I])...), {}};
  else
    return {0, std::string(function(parameter<T>(arguments[I])...))};
}

/// Registers `function` at start. The positional adapter follows from its signature.
template <auto function>
struct Define {
  explicit Define(Formula formula) {
    formula.function = [](std::span<const Argument> arguments) {
      return call<function>(function, std::make_index_sequence<arity_of(function)>{}, arguments);
    };
    add_formula(std::move(formula), arity_of(function));
  }
};

}  // namespace headrace::job
