// The conclusions from a record: faults in words, a state for each node, a verdict.
#pragma once

#include <string>
#include <vector>

#include "harness/bringup/record.h"

namespace headrace::bringup {

/// The record's sessions for the search: a node's rates from before its repair are left out.
class Replay {
 public:
  explicit Replay(const Record& record);
  bool counts(std::size_t session, const PairMeasured& one) const {
    return counts(session, one.a) && counts(session, one.b);
  }
  bool counts(std::size_t session, unsigned node) const { return session >= since_[node]; }

 private:
  std::vector<std::size_t> since_;  // of each node: the session of its last retest
};

/// A link, a NIC, a node, or a rail (shared) that cannot be connected at all, or counts errors.
struct Broken {
  Fault fault;
  std::string why;
  std::string brief = "no connections";
  std::string fix{};  // "" = the usual step for such a part
};

struct Judged {
  const Evidence& evidence;
  std::vector<Broken> broken;
  std::vector<bool> takes_part;  // in this session
  bool finished = false;         // the search ended by its own rule
};

/// Sets faults, states, the word and the sentence.
void judge(Record& record, const Judged& judged);

}  // namespace headrace::bringup
