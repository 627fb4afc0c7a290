// Groups of nodes compared with each other by the rate of each, all at the same time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/bringup/group_run.h"

namespace headrace::bringup {

/// That few groups of one size: one slower than the others may be right.
inline constexpr std::size_t kFewestGroups = 3;

/// A value in which a group is slower than others of its size.
struct SlowerGroup {
  std::size_t group = 0, value = 0;  // places in the groups, and in its values
  double usual = 0;                  // the others' middle
  std::size_t others = 0;
  double loss = 0;  // as a share of the usual
};
/// Values on the bad side of the others' middle by more than delta and by more than noise. The best of the group's
/// repetitions is, too, and its middle one is an outlier. Groups of other sizes are not compared: the rate of a
/// collective depends on their number. `groups`: of one turn; failed ones are ignored.
std::vector<SlowerGroup> slower_groups(std::span<const GroupRun> groups);

/// Are that many of one size there that any is compared?
bool comparable(std::span<const GroupRun> groups);

}  // namespace headrace::bringup
