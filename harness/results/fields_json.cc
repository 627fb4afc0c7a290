#include "harness/results/fields_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/record/repetition_fields.h"
#include "harness/results/parts.h"
#include "harness/results/run_fields.h"

namespace headrace::results {
namespace {

using Json = nlohmann::ordered_json;

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
  if constexpr (std::is_same_v<E, RepetitionStatus> || std::is_same_v<E, Better>)
    return std::string(to_string(value));
  else
    return std::string(headrace::to_string(value));
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

/// Writes one value.
struct Encoder {
  const PartNames& parts;

  template <class T>
  Json operator()(const T& value) const {
    if constexpr (Described<T>)
      return object(value);
    else if constexpr (std::is_enum_v<T>)
      return word_of(value);
    else
      return value;
  }
  Json operator()(const Histogram& h) const {
    Json buckets = Json::array();
    for (const Histogram::Bucket& b : h.nonzero()) buckets.push_back({b.index, b.count});
    return {{"min_ns", h.min_ns()}, {"max_ns", h.max_ns()}, {"buckets", std::move(buckets)}};
  }
  Json operator()(const std::vector<Histogram>& all) const {
    Json named = Json::object();
    for (std::size_t i = 0; i < all.size() && i < parts.size(); ++i) named[parts[i]] = (*this)(all[i]);
    return named;
  }
  Json operator()(const std::vector<SeriesPoint>& points) const {
    Json columns = Json::object();
    each_field<SeriesPoint>([&](const auto& field) {
      Json column = Json::array();
      for (const SeriesPoint& p : points) column.push_back(field.of(p));
      columns[std::string(field.key)] = std::move(column);
    });
    return columns;
  }
  Json operator()(const std::vector<MetricValue>& metrics) const {
    Json by_name = Json::object();
    for (const MetricValue& m : metrics) by_name[m.name] = m.value;
    return by_name;
  }
  template <class T>
  requires Described<T> Json operator()(const std::vector<T>& all) const {
    Json list = Json::array();
    for (const T& one : all) list.push_back(object(one));
    return list;
  }

  template <class T>
  Json object(const T& value) const {
    Json all = Json::object();
    each_stored_field<T>([&](const auto& field) {
      if (field.stored != nullptr && !field.stored(value)) return;
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
  void put(Json& object, std::string_view key, const T& member) const {
    object[std::string(key)] = (*this)(member);
  }
  template <class T>
  void put(Json& object, std::string_view key, const std::optional<T>& member) const {
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
    if (!place.has("buckets")) return;  // whoever needs none has them read over (parse_json)
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
  void operator()(const JsonPlace& place, std::optional<T>& value) const {
    (*this)(place, value.emplace());
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

}  // namespace

template <class T>
Json json_of(const T& value, const PartNames& parts) {
  return Encoder{parts}(value);
}

template <class T>
void read_fields(const JsonPlace& place, T& value, PartNames& parts) {
  Decoder{parts}(place, value);
}

template Json json_of(const Repetition&, const PartNames&);
template void read_fields(const JsonPlace&, Repetition&, PartNames&);
template Json json_of(const PairMatrix&, const PartNames&);
template void read_fields(const JsonPlace&, PairMatrix&, PartNames&);
template Json json_of(const statistics::SingleRun&, const PartNames&);
template void read_fields(const JsonPlace&, statistics::SingleRun&, PartNames&);
template Json json_of(const GroupShape&, const PartNames&);
template void read_fields(const JsonPlace&, GroupShape&, PartNames&);
template Json json_of(const NoiseFloor&, const PartNames&);
template void read_fields(const JsonPlace&, NoiseFloor&, PartNames&);
template Json json_of(const MetricSummary&, const PartNames&);
template void read_fields(const JsonPlace&, MetricSummary&, PartNames&);
template Json json_of(const judging::Question&, const PartNames&);
template void read_fields(const JsonPlace&, judging::Question&, PartNames&);
template Json json_of(const PartFault&, const PartNames&);
template void read_fields(const JsonPlace&, PartFault&, PartNames&);
template Json json_of(const Judgement&, const PartNames&);
template void read_fields(const JsonPlace&, Judgement&, PartNames&);

}  // namespace headrace::results
