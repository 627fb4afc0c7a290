// Group measurements of nodes: collectives of a group, the job's storage load of all of them.
#pragma once

#include <string>
#include <vector>

#include "harness/record/metric.h"

namespace headrace::bringup {

/// One number that a group reached: its middle repetition.
struct GroupValue {
  std::string point, metric, unit;
  double value = 0;
  Better better = Better::neither;
  double best = 0;  // of its repetitions
};

/// A way in which the job uses storage, by all clients at once.
struct LoadPhase {
  std::string phase, title, unit, outcome, explanation, next_step;
  unsigned clients = 1;  // that measured at once
  double per_node = 0;   // of each of them
  double in_all = 0;     // the rate of the job's nodes together, as far as that follows
  double need = 0;       // of the whole job
};

struct GroupRun {
  std::string what;             // "collectives", "storage load"
  std::vector<unsigned> nodes;  // their places in Record::nodes
  double took_s = 0;
  std::string why;  // it came to no end; "" = it did
  std::vector<GroupValue> values;
  std::vector<LoadPhase> phases;
  bool again = false;  // all of them were measured once more, as one was slower than the others
};

}  // namespace headrace::bringup
