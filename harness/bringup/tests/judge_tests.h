// Judges nodes by their own measurements, with the rules by which `fleet` compares nodes with each other.
#pragma once

#include <string>
#include <vector>

#include "harness/bringup/record.h"

namespace headrace::bringup {

/// The result of all tests of a record, without those that repaired nodes took before their repair.
struct TestsJudged {
  std::vector<Difference> differences;  // in which nodes are worse than their like, or lack a value
  std::vector<NamedFault> shared;       // shifts that nodes share: of a rack, a switch, a setting
  std::vector<unsigned> suspects;       // that have to measure again
  std::string unjudged;                 // why no node was compared; "" = some were
};
TestsJudged judge_tests(const Record& record);

}  // namespace headrace::bringup
