// The meeting point of all ranks, a thread in rank 0's process. It collects the messages of each exchange and sends
// them to all when complete. It knows which rank ended, fell silent, or was late. Plain TCP, so that deadlines do not
// depend on MPI.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/record/ranks/ranks.h"

namespace headrace::ranks {

/// How ranks find the hub. Sent to them once, by their launcher.
struct HubAddress {
  std::vector<std::string> addresses;  // of the hub's host, numeric, loopback last
  std::uint16_t port = 0;
  std::string token;  // 16 random bytes; a connection without it is dropped

  std::string packed() const;
  static HubAddress unpacked(const std::string& bytes);
};

class Hub {
 public:
  /// `places`: one per rank. A rank that answers no ping for `silence_s` is lost. Throws RunError
  /// when no socket can be had, or this process may not open a file for each.
  Hub(std::vector<RankPlace> places, double silence_s);
  ~Hub();
  Hub(const Hub&) = delete;

  HubAddress address() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace::ranks
