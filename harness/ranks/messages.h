// What the frames between hub and ranks hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/ranks/wire.h"

namespace headrace::ranks {

/// What one rank says in one exchange.
struct Contribution {
  std::vector<unsigned> group;
  std::uint64_t number = 0;  // of the group's exchanges
  int root = -1;
  double timeout_s = 0;
  std::string what, own;

  /// Which exchange: the same for all of its members.
  std::string key() const { return wire::Writer().put(group).put(number).bytes(); }

  std::string packed() const {
    return wire::Writer().put(group).put(number).put(root).put(timeout_s).put(what).put(own).bytes();
  }
  static Contribution unpacked(const std::string& bytes) {
    wire::Reader in(bytes);
    Contribution c;
    in.get(c.group);
    in.get(c.number);
    in.get(c.root);
    in.get(c.timeout_s);
    in.get(c.what);
    in.get(c.own);
    return c;
  }
};

}  // namespace headrace::ranks
