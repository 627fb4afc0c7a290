// A job's checkpoints, learned from its saves.
#include <fmt/format.h>

#include <algorithm>

#include "harness/base/median.h"
#include "harness/base/units.h"
#include "harness/observe/learning/learned.h"
#include "harness/observe/learning/shares.h"

namespace headrace::observe {
namespace {

constexpr double kBytesPerParameter = 14;  // of a checkpoint with Adam's state, as the job file assumes

}  // namespace

void learn_saves(const Recording& recording, Observation& seen) {
  const auto& saves = recording.saves;
  if (saves.empty()) return;
  std::vector<double> bytes, lasted, gaps;
  std::size_t still = 0;
  for (std::size_t i = 0; i < saves.size(); ++i) {
    bytes.push_back(static_cast<double>(saves[i].bytes));
    lasted.push_back(std::max(1e-3, saves[i].end_s - saves[i].begin_s));
    if (i > 0) gaps.push_back(std::max(1e-3, saves[i].begin_s - saves[i - 1].end_s));
    still += stands_still(saves[i]);
  }
  const auto spread = [](const std::vector<double>& values, double middle) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return ratio(std::max(*most - middle, middle - *least), middle);
  };
  const double size = statistics::median(bytes), length = statistics::median(lasted);
  const bool sync = still * 2 > saves.size();
  learn_number(seen, "model.parameters", size / kBytesPerParameter, spread(bytes, size), Dimension::count,
               Confidence::guess,
               fmt::format("{} saves of {}, the last to {}; as if of 14 bytes a parameter", saves.size(),
                           format_quantity(size, Dimension::bytes), saves.back().path));
  if (gaps.empty())
    learn_number(seen, "checkpoint.interval", std::max(1.0, recording.elapsed_s), 0, Dimension::seconds,
                 Confidence::guess, "only one save was seen, so the interval is unknown");
  else
    learn_number(seen, "checkpoint.interval", statistics::median(gaps), spread(gaps, statistics::median(gaps)),
                 Dimension::seconds, gaps.size() > 1 ? Confidence::high : Confidence::medium,
                 fmt::format("from the end of a save to the begin of the next, {} times", gaps.size()));
  learn_word(seen, "checkpoint.mode", sync ? "sync" : "async", saves.size() > 1 ? Confidence::high : Confidence::medium,
             sync ? "the thread that takes batches writes them, or waits while another does"
                  : "another thread or process writes them");
  learn_number(seen, "checkpoint.stall", length, spread(lasted, length), Dimension::seconds, Confidence::medium,
               "how long a save takes today; say how long it may take");
}

}  // namespace headrace::observe
