// Faults in words: a part's measured value, the usual one, and the next step.
#pragma once

#include <vector>

#include "harness/bringup/blame/judge.h"
#include "harness/bringup/record.h"

namespace headrace::bringup {

class FaultWords {
 public:
  FaultWords(const Record& record, const Judged& judged);

  /// Have enough nodes met another? Fewer cannot show the usual rate.
  bool enough() const;
  static constexpr std::size_t kFewestNodes = 4;  // one bad one of three is no exception

  NamedFault describe(const Fault& fault) const;
  NamedFault describe(const Broken& broken) const;
  /// The fault that a host reports on itself.
  NamedFault describe(unsigned node) const;

 private:
  /// Rates of a part's pairs over one rail, and of pairs without an accused node.
  struct OnRail {
    unsigned rail = 0;
    std::vector<const PairMeasured*> of;
    double own = 0, usual = 0;
    double times = 0;  // how many times worse it is
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
