// The content of frames between hub and ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/record/ranks/wire.h"

namespace headrace::ranks {

inline constexpr double kWrite_s = 10;  // an end that does not read for this time while the other end writes is lost
inline constexpr double kLook_s = 0.1;  // between two checks for other work

/// Ranks in ascending order, by their runs: "all of 4096" is two numbers.
inline void put_group(wire::Writer& out, const std::vector<unsigned>& group) {
  std::vector<unsigned> runs;  // the first and the last of each
  for (const unsigned rank : group) {
    if (!runs.empty() && rank == runs.back() + 1)
      runs.back() = rank;
    else
      runs.insert(runs.end(), {rank, rank});
  }
  out.put(runs);
}

/// Throws RunError where put_group() wrote no such thing.
inline void get_group(wire::Reader& in, std::vector<unsigned>& group) {
  constexpr unsigned kMost = 1u << 20;
  const auto runs = in.get<std::vector<unsigned>>();
  bool sound = runs.size() % 2 == 0;
  for (std::size_t i = 0; sound && i < runs.size(); i += 2) {
    sound = runs[i] <= runs[i + 1] && runs[i + 1] < kMost && (i == 0 || runs[i] > runs[i - 1] + 1);
    for (unsigned rank = runs[i]; sound && rank <= runs[i + 1]; ++rank) group.push_back(rank);
  }
  if (!sound) throw RunError("a message from another rank names no group of ranks");
}

/// The messages of a group's members, in its order: equal ones in sequence once. Most steps have empty ones.
inline void put_said(wire::Writer& out, const std::vector<std::string>& said) {
  std::vector<std::uint32_t> times;
  std::vector<std::string> words;
  for (const std::string& word : said) {
    if (!words.empty() && words.back() == word) {
      ++times.back();
    } else {
      times.push_back(1);
      words.push_back(word);
    }
  }
  out.put(times).put(words);
}

/// Throws RunError where put_said() wrote no such thing.
inline void get_said(wire::Reader& in, std::vector<std::string>& said) {
  constexpr std::uint64_t kMost = 1u << 20;
  const auto times = in.get<std::vector<std::uint32_t>>();
  const auto words = in.get<std::vector<std::string>>();
  bool sound = times.size() == words.size();
  for (std::size_t i = 0; sound && i < times.size(); ++i) {
    sound = times[i] > 0 && said.size() + times[i] <= kMost && (i == 0 || words[i] != words[i - 1]);
    if (sound) said.insert(said.end(), times[i], words[i]);
  }
  if (!sound) throw RunError("an answer to ranks of another version");
}

/// The message of one rank in one exchange.
struct Contribution {
  std::vector<unsigned> group;
  std::uint64_t number = 0;  // of the group's exchanges
  int root = -1;
  double timeout_s = 0;
  std::string what, own;

  /// Which exchange: the same for all of its members.
  std::string key() const {
    wire::Writer out;
    put_group(out, group);
    return out.put(number).bytes();
  }

  std::string packed() const {
    wire::Writer out;
    put_group(out, group);
    return out.put(number).put(root).put(timeout_s).put(what).put(own).bytes();
  }
  static Contribution unpacked(const std::string& bytes) {
    wire::Reader in(bytes);
    Contribution c;
    get_group(in, c.group);
    in.get(c.number);
    in.get(c.root);
    in.get(c.timeout_s);
    in.get(c.what);
    in.get(c.own);
    return c;
  }
};

}  // namespace headrace::ranks
