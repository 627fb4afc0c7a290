// The stored names of a struct's members, and how several processes' structs are merged. The writer and reader of run
// files and the wire between ranks use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace headrace {

/// How one member of several ranks' structs becomes one. A member that is a struct is merged by its own members.
enum class Merge : std::uint8_t {
  own,    // the leading rank's
  sum,    // added up; so are histograms and series
  most,   // the largest
  least,  // the smallest
  list,   // one after the other
  none,   // of one rank alone, or of all together once they are merged: begins anew
};

/// A member of a member.
template <class T, class Between, class M>
struct Through {
  Between T::*outer = nullptr;
  M Between::*inner = nullptr;
};
/// One member. Every member goes over the wire, those with a key are in files, too.
template <class T, class M, bool InFiles, class Way = M T::*>
struct Field {
  static constexpr bool in_files = InFiles;

  std::string_view key;
  Way member{};
  Merge merge = Merge::own;
  bool needed = false;                 // a file without it is refused; else it has its default there
  bool (*stored)(const T&) = nullptr;  // whether it is written; nullptr = always
  bool sparse = false;                 // not written where it is empty or 0
  std::string_view yes = {}, no = {};  // words for a flag, where files have such instead of true and false

  constexpr const M& of(const T& value) const {
    if constexpr (std::is_member_object_pointer_v<Way>)
      return value.*member;
    else
      return value.*member.outer.*member.inner;
  }
  constexpr M& of(T& value) const { return const_cast<M&>(of(std::as_const(value))); }

  constexpr Field merged(Merge how) const {
    Field same = *this;
    same.merge = how;
    return same;
  }
  constexpr Field required() const {
    Field same = *this;
    same.needed = true;
    return same;
  }
  constexpr Field if_set() const {
    Field same = *this;
    same.sparse = true;
    return same;
  }
  constexpr Field where(bool (*is)(const T&)) const {
    Field same = *this;
    same.stored = is;
    return same;
  }
  constexpr Field said(std::string_view if_true, std::string_view if_false) const {
    Field same = *this;
    same.yes = if_true;
    same.no = if_false;
    return same;
  }
};

/// A member that files have under `key`.
template <class T, class M>
constexpr Field<T, M, true> field(std::string_view key, M T::*member) {
  return {.key = key, .member = member};
}

/// A member of a member that files have as if it were the struct's own.
template <class T, class Between, class M>
constexpr Field<T, M, true, Through<T, Between, M>> field(std::string_view key, Between T::*outer, M Between::*inner) {
  return {.key = key, .member = {outer, inner}};
}

/// A member that is in no file.
template <class T, class M>
constexpr Field<T, M, false> unstored(M T::*member) {
  return {.key = {}, .member = member};
}

/// Specialized next to each struct, in its file's order: `static constexpr auto all = std::tuple(field(...), ...)`.
template <class T>
struct Fields;

template <class T>
concept Described = requires {
  Fields<T>::all;
};

/// Calls `visit(field)` for each in turn.
template <Described T, class Visit>
constexpr void each_field(Visit&& visit) {
  std::apply([&](const auto&... one) { (visit(one), ...); }, Fields<T>::all);
}

/// The same of those that are in files.
template <Described T, class Visit>
constexpr void each_stored_field(Visit&& visit) {
  each_field<T>([&](const auto& one) {
    if constexpr (std::remove_cvref_t<decltype(one)>::in_files) visit(one);
  });
}

namespace fields {

/// Converts to a member of any type, where a struct's members are counted.
struct Any {
  template <class T>
  operator T() const noexcept;
};

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Any{})...}; };
}

template <class T, std::size_t N = 0>
constexpr std::size_t members() {
  if constexpr (takes<T>(std::make_index_sequence<N + 1>()))
    return members<T, N + 1>();
  else
    return N;
}

}  // namespace fields

/// Is each of an aggregate's members described? Asserted next to each description, so that none is forgotten.
template <Described T>
constexpr bool is_complete() {
  return std::tuple_size_v<std::remove_cvref_t<decltype(Fields<T>::all)>> == fields::members<T>();
}

}  // namespace headrace
