// How described structs (harness/record/fields.h) become JSON and are read back, for files with their own structs.
// fields_json.h has the structs of run.json.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/judge/verdict/word.h"
#include "harness/record/fields.h"
#include "harness/record/repetition_fields.h"
#include "harness/results/fields_json.h"
#include "harness/results/parts.h"

namespace headrace::results {

template <class E>
struct Words;
template <>
struct Words<RepetitionStatus> {
  static constexpr RepetitionStatus all[] = {RepetitionStatus::ok, RepetitionStatus::error,
                                             RepetitionStatus::interrupted};
};
template <>
struct Words<CacheState> {
  static constexpr CacheState all[] = {CacheState::cold, CacheState::warm, CacheState::bypassed, CacheState::asis};
};
template <>
struct Words<Better> {
  static constexpr Better all[] = {Better::higher, Better::lower, Better::neither};
};
template <>
struct Words<Outcome> {
  static constexpr auto& all = kOutcomes;
};
template <>
struct Words<Reason> {
  static constexpr auto& all = kReasons;
};
template <class E>
requires std::is_enum_v<E> std::string word_of(E value) {
  if constexpr (std::is_same_v<E, RepetitionStatus> || std::is_same_v<E, Better>) {
    return std::string(to_string(value));
  } else {
    using headrace::to_string;
    return std::string(to_string(value));
  }
}

/// Is it the description of a member that is true or false?
template <class F>
struct MemberOf;
template <class T, class M, bool InFiles, class Way>
struct MemberOf<Field<T, M, InFiles, Way>> {
  using Type = M;
};
template <class F>
constexpr bool is_flag = std::is_same_v<typename MemberOf<std::remove_cvref_t<F>>::Type, bool>;

/// Nothing, or 0.
template <class M>
constexpr bool is_unset(const M& member) {
  if constexpr (requires { member.empty(); })
    return member.empty();
  else if constexpr (std::is_arithmetic_v<M>)
    return member == M{};
  else
    return false;
}

/// Writes one value.
struct Encoder {
  const PartNames& parts;

  template <class T>
  nlohmann::ordered_json operator()(const T& value) const {
    if constexpr (Described<T>)
      return object(value);
    else if constexpr (std::is_enum_v<T>)
      return word_of(value);
    else
      return value;
  }
  nlohmann::ordered_json operator()(const Histogram& h) const {
    nlohmann::ordered_json buckets = nlohmann::ordered_json::array();
    for (const Histogram::Bucket& b : h.nonzero()) buckets.push_back({b.index, b.count});
    return {{"min_ns", h.min_ns()}, {"max_ns", h.max_ns()}, {"buckets", std::move(buckets)}};
  }
  nlohmann::ordered_json operator()(const std::vector<Histogram>& all) const {
    nlohmann::ordered_json named = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < all.size() && i < parts.size(); ++i) named[parts[i]] = (*this)(all[i]);
    return named;
  }
  nlohmann::ordered_json operator()(const std::vector<SeriesPoint>& points) const {
    nlohmann::ordered_json columns = nlohmann::ordered_json::object();
    each_field<SeriesPoint>([&](const auto& field) {
      nlohmann::ordered_json column = nlohmann::ordered_json::array();
      for (const SeriesPoint& p : points) column.push_back(field.of(p));
      columns[std::string(field.key)] = std::move(column);
    });
    return columns;
  }
  nlohmann::ordered_json operator()(const std::vector<MetricValue>& metrics) const {
    nlohmann::ordered_json by_name = nlohmann::ordered_json::object();
    for (const MetricValue& m : metrics) by_name[m.name] = m.value;
    return by_name;
  }
  nlohmann::ordered_json operator()(const std::vector<std::optional<double>>& all) const {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const std::optional<double>& one : all) list.push_back(one ? nlohmann::ordered_json(*one) : nullptr);
    return list;
  }
  template <class T>
  requires Described<T> nlohmann::ordered_json operator()(const std::vector<T>& all) const {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const T& one : all) list.push_back(object(one));
    return list;
  }

  template <class T>
  nlohmann::ordered_json object(const T& value) const {
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    each_stored_field<T>([&](const auto& field) {
      if (field.stored != nullptr && !field.stored(value)) return;
      if (field.sparse && is_unset(field.of(value))) return;
      if constexpr (is_flag<decltype(field)>)
        if (!field.yes.empty()) {
          all[std::string(field.key)] = field.of(value) ? field.yes : field.no;
          return;
        }
      put(all, field.key, field.of(value));
    });
    return all;
  }

  template <class T>
  void put(nlohmann::ordered_json& object, std::string_view key, const T& member) const {
    object[std::string(key)] = (*this)(member);
  }
  template <class T>
  void put(nlohmann::ordered_json& object, std::string_view key, const std::optional<T>& member) const {
    if (member) put(object, key, *member);
  }
};

/// Reads one value.
struct Decoder {
  PartNames& parts;

  void operator()(const JsonPlace& place, double& value) const { value = place.number(); }
  void operator()(const JsonPlace& place, bool& value) const { value = place.flag(); }
  void operator()(const JsonPlace& place, std::string& value) const { value = place.text(); }
  template <class T>
  requires std::is_integral_v<T>
  void operator()(const JsonPlace& place, T& value) const {
    const std::uint64_t whole = place.whole();
    if (whole > static_cast<std::uint64_t>(std::numeric_limits<T>::max()))
      place.refuse(fmt::format("{} is too large", whole));
    value = static_cast<T>(whole);
  }
  template <class E>
  requires std::is_enum_v<E>
  void operator()(const JsonPlace& place, E& value) const {
    std::string words;
    for (const E one : Words<E>::all) {
      if (place.text() == word_of(one)) {
        value = one;
        return;
      }
      words += (words.empty() ? "" : ", ") + word_of(one);
    }
    place.refuse("'" + place.text() + "' is not one of: " + words);
  }
  void operator()(const JsonPlace& place, Histogram& value) const {
    if (!place.has("buckets")) return;  // a caller that needs none skips them (parse_json)
    std::vector<Histogram::Bucket> buckets;
    place.at("buckets").each([&](const JsonPlace& pair) {
      std::vector<std::uint64_t> both;
      pair.each([&](const JsonPlace& item) { both.push_back(item.whole()); });
      if (both.size() != 2) pair.refuse("a list of bucket and count is expected");
      if (both[0] >= Histogram::kBuckets) pair.refuse("there is no such bucket");
      if (!buckets.empty() && buckets.back().index >= both[0]) pair.refuse("buckets must ascend");
      buckets.push_back({static_cast<std::uint32_t>(both[0]), both[1]});
    });
    value = Histogram::from(buckets, place.whole("min_ns", 0), place.whole("max_ns", 0));
  }
  void operator()(const JsonPlace& place, std::vector<Histogram>& all) const {
    place.each_member([&](const std::string& name, const JsonPlace& histogram) {
      const auto known = std::find(parts.begin(), parts.end(), name);
      const auto at = static_cast<std::size_t>(known - parts.begin());
      if (known == parts.end()) parts.push_back(name);
      if (all.size() <= at) all.resize(at + 1);
      (*this)(histogram, all[at]);
    });
  }
  void operator()(const JsonPlace& place, std::vector<SeriesPoint>& points) const {
    points.clear();
    each_field<SeriesPoint>([&](const auto& field) {
      if (!place.has(field.key)) return;
      const JsonPlace column = place.at(field.key);
      const std::vector<double> values = column.numbers();
      if (points.empty()) points.resize(values.size());
      if (points.size() != values.size())
        column.refuse(fmt::format("{} values of a series of {}", values.size(), points.size()));
      for (std::size_t i = 0; i < values.size(); ++i) field.of(points[i]) = values[i];
    });
  }
  void operator()(const JsonPlace& place, std::vector<MetricValue>& metrics) const {
    metrics.clear();
    place.each_member([&](const std::string& name, const JsonPlace& value) {
      metrics.push_back({name, value.number(), 0});
    });
  }
  template <class T>
  void operator()(const JsonPlace& place, std::vector<T>& all) const {
    all.clear();
    place.each([&](const JsonPlace& one) { (*this)(one, all.emplace_back()); });
  }
  template <class T>
  void operator()(const JsonPlace& place, std::map<std::string, T>& all) const {
    all.clear();
    place.each_member([&](const std::string& name, const JsonPlace& value) { (*this)(value, all[name]); });
  }
  template <class T>
  void operator()(const JsonPlace& place, std::optional<T>& value) const {
    value.reset();
    if (!place.value().is_null()) (*this)(place, value.emplace());
  }
  template <class T>
  requires Described<T>
  void operator()(const JsonPlace& place, T& value) const {
    each_stored_field<T>([&](const auto& field) {
      if (!field.needed && !place.has(field.key)) return;
      const JsonPlace at = place.at(field.key);
      if constexpr (is_flag<decltype(field)>)
        if (!field.yes.empty()) {
          const std::string word = at.text();
          if (word != field.yes && word != field.no)
            at.refuse(fmt::format("'{}' is not one of: {}, {}", word, field.yes, field.no));
          field.of(value) = word == field.yes;
          return;
        }
      (*this)(at, field.of(value));
    });
  }
};

/// `value` as json_of() has it.
template <Described T>
nlohmann::ordered_json encoded(const T& value) {
  const PartNames none;
  return Encoder{none}(value);
}

/// As read_fields(). Throws UsageError.
template <Described T>
T decoded(const JsonPlace& place) {
  T value;
  PartNames none;
  Decoder{none}(place, value);
  return value;
}

}  // namespace headrace::results
