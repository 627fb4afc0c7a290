// The lines of a text file, packed by gzip or not; and which of them were no use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::observe::calls {

class Lines {
 public:
  /// Throws UsageError where the file cannot be read.
  explicit Lines(std::string path);
  ~Lines();
  /// False: there are no more. Without its end of line; `line` lives until the next call. Throws UsageError where the packed
  /// bytes are broken.
  bool next(std::string_view& line);
  const std::string& path() const { return path_; }
  std::uint64_t number() const { return number_; }

 private:
  struct Packed;
  bool fill();

  std::string path_;
  std::unique_ptr<Packed> packed_;
  std::string held_, line_;
  std::size_t at_ = 0;
  bool over_ = false;
  std::uint64_t number_ = 0;
};

inline constexpr const char* kTooLong = "has a path that is longer than Linux takes";

/// Counts useless lines, and names the first of each reason.
class BadLines {
 public:
  void add(const Lines& where, const std::string& why);
  std::uint64_t count() const { return count_; }
  /// "3 lines were left out: FILE:7: no time; FILE:9 ..."; "" where there were none.
  std::string text() const;

 private:
  std::uint64_t count_ = 0;
  std::vector<std::string> reasons_, first_;
};

}  // namespace headrace::observe::calls
