// Brings up real hosts. It looks at all of them, measures the pairs that the search requests, skips failed nodes, and
// judges. docs/reference/bring-up.md shows what a user sees.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/bringup/record.h"

namespace headrace::bringup {

/// Hears how far it is.
class Audience {
 public:
  virtual ~Audience() = default;
  /// That many of all agents are known to be there, or not.
  virtual void started(std::size_t known, std::size_t all) = 0;
  virtual void looked(const Record& record) = 0;
  /// Something begins that is no round: "node tests".
  virtual void step(const char* what, std::size_t nodes) = 0;
  /// A round begins; `left_s`: how long all may still take.
  virtual void round(unsigned number, std::size_t pairs, double left_s) = 0;
  virtual void measured(const RoundRecord& round, const Record& record) = 0;
};

struct Start {
  std::vector<std::string> commands;        // that start the agent of each node, for a shell
  double start_s = 30;                      // for its first word
  std::string job_file;                     // the record's job; "" = none
  std::vector<unsigned> retest;             // nodes that were repaired; none: all take part
  std::function<int()> signal;              // asked often; not 0: end, and keep the results
  std::function<void(const Record&)> keep;  // after each round
};

/// Adds a session to `record`, whose nodes and kinds of measurement are set; results of earlier sessions count. Throws
/// RunError where a retest has no partner.
void bring_up(Record& record, const Start& start, Audience& audience);

/// How many rounds it may need.
unsigned likely_rounds(const Record& record);

}  // namespace headrace::bringup
