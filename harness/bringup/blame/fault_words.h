// Faults in words: what was measured of a part, beside what is usual, and what to do.
#pragma once

#include <vector>

#include "harness/bringup/blame/judge.h"
#include "harness/bringup/record.h"

namespace headrace::bringup {

class FaultWords {
 public:
  FaultWords(const Record& record, const Judged& judged);

  /// Have enough nodes met somebody? Of fewer nobody can decide what is usual.
  bool enough() const;
  static constexpr std::size_t kFewestNodes = 4;  // one bad one of three is no exception

  NamedFault describe(const Fault& fault) const;
  NamedFault describe(const Broken& broken) const;
  /// Of what a host reports on itself.
  NamedFault describe(unsigned node) const;

 private:
  /// What the pairs of a part reached by one rail, beside the pairs of nobody who is accused.
  struct OnRail {
    unsigned rail = 0;
    std::vector<const PairMeasured*> of;
    double own = 0, usual = 0;
    double times = 0;  // so much worse it is
  };

  std::string node(unsigned number) const { return record_.nodes[number].host.name; }
  void name(NamedFault& out) const;
  bool concerns(const Fault& fault, const PairMeasured& one) const;
  OnRail on_rail(const Fault& fault, Quality quality, unsigned rail) const;
  std::string sentence(const Fault& fault, Quality quality, const OnRail& on) const;

  const Record& record_;
  const Judged& judged_;
  std::vector<const PairMeasured*> pairs_;
  std::vector<bool> accused_;
};

}  // namespace headrace::bringup
