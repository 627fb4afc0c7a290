// The live display of an observation: a view that is drawn again, or a line now and then.
#pragma once

#include "benches/headrace/terminal.h"
#include "benches/headrace/verb.h"
#include "harness/observe/learning/roles.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::cli {

class LiveView {
 public:
  /// `alone`: nothing else writes to the terminal, so that it may be drawn again.
  LiveView(const Shared& shared, bool alone);
  ~LiveView() { clear(); }

  /// How often it wants to be called [s].
  double every_s() const { return redrawn_ ? 0.5 : 10; }
  void operator()(const observe::Recording& recording);
  void clear();

 private:
  const Terminal terminal_;
  const bool redrawn_;
  observe::Roles roles_;
  double roles_due_s_ = 0;
  std::size_t lines_ = 0;  // drawn, to be drawn over
};

}  // namespace headrace::cli
