// What nodes measured by themselves says of them, by the rules by which `fleet` holds nodes against each other.
#pragma once

#include <string>
#include <vector>

#include "harness/bringup/record.h"

namespace headrace::bringup {

/// What all tests of a record say together, those that repaired nodes took before their repair left out.
struct TestsJudged {
  std::vector<Difference> differences;  // in which nodes are worse than their like, or lack a value
  std::vector<NamedFault> shared;       // shifts that nodes share: of a rack, a switch, a setting
  std::vector<unsigned> suspects;       // that have to measure again
  std::string unjudged;                 // why nobody was compared; "" = some were
};
TestsJudged judge_tests(const Record& record);

}  // namespace headrace::bringup
