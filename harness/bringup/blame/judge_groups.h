// Group measurements of the latest session, in words and judgements.
#pragma once

#include <vector>

#include "harness/bringup/record.h"

namespace headrace::bringup {

struct GroupsJudged {
  std::vector<NamedFault>
      faults;  // a group that did not work together, or twice slower than others; storage that misses the job's need
  bool undecided = false;  // storage that may or may not give it
};
GroupsJudged judge_groups(const Record& record);

}  // namespace headrace::bringup
