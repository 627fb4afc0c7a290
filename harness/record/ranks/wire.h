// Values as bytes between processes of one build on equal machines. Numbers are as in memory, strings and vectors
// follow their length.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/base/error.h"

namespace headrace::wire {

class Writer {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> Writer& put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& put(std::string_view text) {
    put<std::uint64_t>(text.size());
    bytes_.append(text);
    return *this;
  }
  Writer& put(const std::string& text) { return put(std::string_view(text)); }
  template <class T>
  Writer& put(const std::vector<T>& values) {
    put<std::uint64_t>(values.size());
    for (const T& value : values) put(value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Throws RunError where the bytes end too early.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void get(T& value) { std::memcpy(&value, take(sizeof value).data(), sizeof value); }
  void get(std::string& text) { text = take(length(1)); }
  template <class T>
  void get(std::vector<T>& values) {
    values.resize(length(sizeof(T) < 8 ? sizeof(T) : 8));
    for (T& value : values) get(value);
  }
  template <class T>
  T get() {
    T value;
    get(value);
    return value;
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) throw RunError("a message from another rank is too short");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  /// A length that the bytes that are left can hold, each thing taking `least` of them at least.
  std::size_t length(std::size_t least) {
    const auto count = get<std::uint64_t>();
    if (count > bytes_.size() / least) throw RunError("a message from another rank is too short");
    return static_cast<std::size_t>(count);
  }

  std::string_view bytes_;
};

}  // namespace headrace::wire
