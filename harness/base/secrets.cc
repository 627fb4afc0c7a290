#include "harness/base/secrets.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <unordered_set>
#include <utility>

namespace headrace {
namespace {

constexpr std::size_t kShortest = 4, kSurelySecret = 16;  // characters

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// A number that takes up all of `digits`; 0 where it is none, or no ASCII character.
char ascii_of(std::string_view digits, int base) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return error == std::errc() && end == digits.data() + digits.size() && value < 128 ? static_cast<char>(value) : '\0';
}

char named_entity(std::string_view name) {
  constexpr std::pair<std::string_view, char> kNames[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, c] : kNames)
    if (name == known) return c;
  return '\0';
}

/// The character that `text` begins with, and how many characters it is written in.
std::pair<char, std::size_t> unescaped(std::string_view text) {
  char c = '\0';
  std::size_t size = 1;
  if (text.starts_with('%') && text.size() >= 3) {
    c = ascii_of(text.substr(1, 2), 16);
    size = 3;
  } else if (text.starts_with("\\u") && text.size() >= 6) {
    c = ascii_of(text.substr(2, 4), 16);
    size = 6;
  } else if (text.starts_with("\\/") || text.starts_with("\\\\") || text.starts_with("\\\"")) {
    c = text[1];
    size = 2;
  } else if (text.starts_with('&')) {
    const std::size_t end = text.substr(0, 10).find(';');
    const std::string_view name = end == text.npos ? "" : text.substr(1, end - 1);
    c = name.starts_with("#x")  ? ascii_of(name.substr(2), 16)
        : name.starts_with('#') ? ascii_of(name.substr(1), 10)
                                : named_entity(name);
    size = name.size() + 2;
  }
  return c == '\0' ? std::pair{text.front(), std::size_t{1}} : std::pair{c, size};
}

/// A text without escapes; begins[i] is where its character i begins in the text as it came.
struct Plain {
  std::string text;
  std::vector<std::uint32_t> begins;
};

Plain unescaped_text(std::string_view text) {
  Plain plain;
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, size] = unescaped(text.substr(at));
    plain.text += c;
    plain.begins.push_back(static_cast<std::uint32_t>(at));
    at += size;
  }
  plain.begins.push_back(static_cast<std::uint32_t>(text.size()));
  return plain;
}

Plain plain_of(std::string_view text) {
  Plain plain = unescaped_text(text);
  std::ranges::transform(plain.text, plain.text.begin(), folded);
  return plain;
}

/// Strikes out of `text` what its plain form has in common with `secret`.
void strike_out(std::string& text, const Plain& plain, const std::string& secret, std::size_t window) {
  window = std::min(window, secret.size());
  std::unordered_set<std::string_view> parts;
  for (std::size_t i = 0; i + window <= secret.size(); ++i) parts.insert(std::string_view(secret).substr(i, window));
  const std::string_view all = plain.text;
  for (std::size_t i = 0; i + window <= all.size(); ++i)
    if (parts.contains(all.substr(i, window)))
      std::fill(text.begin() + plain.begins[i], text.begin() + plain.begins[i + window], '*');
}

}  // namespace

Secrets::Secrets(const std::vector<std::string>& secrets, std::size_t window) : window_(window) {
  for (const std::string& secret : secrets) {
    if (secret.size() < kShortest) continue;
    std::string small = secret;
    std::transform(small.begin(), small.end(), small.begin(), folded);
    secrets_.push_back(std::move(small));
  }
}

std::string Secrets::struck_out(std::string_view text) const {
  std::string struck(text);
  if (secrets_.empty()) return struck;
  const Plain plain = plain_of(text);
  for (const std::string& secret : secrets_) strike_out(struck, plain, secret, window_);
  return struck;
}

bool Secrets::whole_one_in(std::string_view text) const {
  const Plain plain = plain_of(text);
  return std::any_of(secrets_.begin(), secrets_.end(), [&](const std::string& secret) {
    return secret.size() >= kSurelySecret && plain.text.find(secret) != std::string::npos;
  });
}

std::string signatures_struck_out(std::string_view text) {
  // A signature has 64 lower-case digits. Upper-case ones of 16 are names of requests, which support asks for.
  constexpr std::ptrdiff_t kNearly = 40, kPiece = 12;
  const auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0; };
  const auto is_upper = [](unsigned char c) { return std::isupper(c) != 0; };
  std::string struck(text);
  const Plain plain = unescaped_text(text);
  for (auto at = plain.text.begin(); at != plain.text.end();) {
    const auto begin = std::find_if(at, plain.text.end(), is_hex);
    at = std::find_if_not(begin, plain.text.end(), is_hex);
    if (at - begin < kNearly && (at - begin < kPiece || std::any_of(begin, at, is_upper))) continue;
    std::fill(struck.begin() + plain.begins[static_cast<std::size_t>(begin - plain.text.begin())],
              struck.begin() + plain.begins[static_cast<std::size_t>(at - plain.text.begin())], '*');
  }
  return struck;
}

}  // namespace headrace
