// Described structs on the wire between ranks: each member as wire.h has it, in the order of the description.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "harness/record/fields.h"
#include "harness/record/histogram.h"
#include "harness/record/ranks/wire.h"

namespace headrace::wire {

template <class T>
void pack(Writer& out, const T& value);
template <class T>
void unpack(Reader& in, T& value);

namespace detail {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

}  // namespace detail

/// Appends `value` to `out`.
template <class T>
void pack(Writer& out, const T& value) {
  if constexpr (Described<T>) {
    each_field<T>([&](const auto& field) { pack(out, field.of(value)); });
  } else if constexpr (std::is_same_v<T, Histogram>) {
    const auto buckets = value.nonzero();
    out.put(value.min_ns()).put(value.max_ns()).template put<std::uint64_t>(buckets.size());
    for (const Histogram::Bucket& b : buckets) out.put(b.index).put(b.count);
  } else if constexpr (detail::kIsOptional<T>) {
    out.put(value.has_value());
    if (value) pack(out, *value);
  } else if constexpr (detail::kIsVector<T>) {
    out.template put<std::uint64_t>(value.size());
    for (const auto& one : value) pack(out, one);
  } else {
    out.put(value);
  }
}

/// Takes the bytes of pack() from `in`. Throws RunError where the bytes end too early.
template <class T>
void unpack(Reader& in, T& value) {
  if constexpr (Described<T>) {
    each_field<T>([&](const auto& field) { unpack(in, field.of(value)); });
  } else if constexpr (std::is_same_v<T, Histogram>) {
    const auto min_ns = in.get<std::uint64_t>(), max_ns = in.get<std::uint64_t>();
    std::vector<Histogram::Bucket> buckets;
    for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
      const auto index = in.get<std::uint32_t>();
      buckets.push_back({index, in.get<std::uint64_t>()});
    }
    value = Histogram::from(buckets, min_ns, max_ns);
  } else if constexpr (detail::kIsOptional<T>) {
    value.reset();
    if (in.get<bool>()) unpack(in, value.emplace());
  } else if constexpr (detail::kIsVector<T>) {
    value.clear();
    for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
      typename T::value_type one{};  // item by item: a wrong length ends with the bytes
      unpack(in, one);
      value.push_back(std::move(one));
    }
  } else {
    in.get(value);
  }
}

}  // namespace headrace::wire
