#include "harness/backends/npz/npy.h"

#include <array>
#include <cctype>
#include <cstdio>
#include <optional>
#include <string_view>

namespace headrace::npz {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kMost = std::uint64_t{1} << 62;  // of an array's declared content [B]

bool is_space(char c) noexcept { return c == ' ' || c == '\n' || c == '\t'; }
std::string_view skip_spaces(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

/// The value after 'key': in the header, a dictionary as Python writes it; nothing where the key is not there.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) noexcept {
  for (std::size_t at = 0; (at = header.find(key, at)) != std::string_view::npos; at += key.size()) {
    const std::size_t behind = at + key.size();
    if (at == 0 || behind >= header.size()) continue;
    if (header[at - 1] != header[behind] || (header[behind] != '\'' && header[behind] != '"')) continue;
    const std::string_view rest = skip_spaces(header.substr(behind + 1));
    if (!rest.empty() && rest.front() == ':') return skip_spaces(rest.substr(1));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> take_number(std::string_view& text) noexcept {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) return std::nullopt;
  std::uint64_t number = 0;
  for (; !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0; text.remove_prefix(1)) {
    if (number > kMost / 10) return std::nullopt;
    number = 10 * number + static_cast<std::uint64_t>(text.front() - '0');
  }
  return number;
}

enum class Items { sized, unknown, objects, none };

/// Bytes of one item, of a type such as '<f4'. Records, whose type is a list, are of unknown size.
Items item_size(std::string_view descr, std::uint64_t& size) noexcept {
  if (!descr.empty() && descr.front() == '[') return Items::unknown;
  if (descr.size() < 4 || (descr.front() != '\'' && descr.front() != '"')) return Items::none;
  descr.remove_prefix(1);
  if (std::string_view("<>|=").find(descr.front()) != std::string_view::npos) descr.remove_prefix(1);
  const char kind = descr.front();
  descr.remove_prefix(1);
  if (kind == 'O') return Items::objects;
  if (std::string_view("?biufcmMSaUV").find(kind) == std::string_view::npos) return Items::none;
  const auto number = take_number(descr);
  if (!number) return Items::none;
  size = kind == 'U' ? 4 * *number : *number;
  return Items::sized;
}

/// The items of a shape such as (128, 128, 64); nothing where it is none.
std::optional<std::uint64_t> items_of(std::string_view shape) noexcept {
  if (shape.empty() || shape.front() != '(') return std::nullopt;
  shape.remove_prefix(1);
  std::uint64_t items = 1;
  for (shape = skip_spaces(shape); !shape.empty() && shape.front() != ')'; shape = skip_spaces(shape)) {
    const auto side = take_number(shape);
    if (!side || (*side > 0 && items > kMost / *side)) return std::nullopt;
    items *= *side;
    if (!shape.empty() && shape.front() == 'L') shape.remove_prefix(1);  // Python 2's long numbers
    shape = skip_spaces(shape);
    if (!shape.empty() && shape.front() == ',') shape.remove_prefix(1);
  }
  if (shape.empty()) return std::nullopt;
  return items;
}

}  // namespace

bool check_npy(std::span<const unsigned char> array, DecodeError& error) noexcept {
  const std::string_view all{reinterpret_cast<const char*>(array.data()), array.size()};
  if (all.size() < 10 || !all.starts_with(kMagic)) return error.set(0, "it does not begin as numpy's arrays do");
  const unsigned version = array[6];
  if (version < 1 || version > 3) return error.set(6, "an array of a version that is not 1, 2 or 3");
  const std::size_t begin = version == 1 ? 10 : 12;
  if (all.size() < begin) return error.set(8, "an array that ends in its header");
  std::uint64_t length = array[8] | std::uint64_t{array[9]} << 8;
  if (version > 1) length |= std::uint64_t{array[10]} << 16 | std::uint64_t{array[11]} << 24;
  if (length > all.size() - begin) return error.set(8, "an array that ends in its header");
  const std::string_view header = all.substr(begin, length);
  const auto descr = value_of(header, "descr"), shape = value_of(header, "shape");
  if (!descr || !shape || !value_of(header, "fortran_order"))
    return error.set(begin, "an array whose header lacks descr, fortran_order or shape");
  const auto items = items_of(*shape);
  if (!items) return error.set(begin, "an array whose header has no shape");
  std::uint64_t size = 0;
  switch (item_size(*descr, size)) {
    case Items::none:
      return error.set(begin, "an array of items that are none of numpy's");
    case Items::objects:
      return error.set(begin, "an array of Python objects, which are pickled: they are not read");
    case Items::unknown:
      return true;
    case Items::sized:
      break;
  }
  const std::uint64_t there = all.size() - begin - length;
  if (*items == 0 || size == 0 || *items <= there / size) return true;
  std::array<char, 120> text;
  std::snprintf(text.data(), text.size(), "an array of %llu items of %llu bytes, and %llu bytes of it are there",
                static_cast<unsigned long long>(*items), static_cast<unsigned long long>(size),
                static_cast<unsigned long long>(there));
  return error.set(begin + length, text.data());
}

std::string npy_header(std::uint64_t count) {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(count) + ",), }";
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ').append("\n");
  std::string all(kMagic);
  all += {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return all + header;
}

}  // namespace headrace::npz
