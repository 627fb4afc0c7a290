#include "harness/engine/stage.h"

#include <algorithm>

namespace headrace::engine {

DataProgress stoppable(RunObserver& observer) {
  return [&observer](std::uint64_t done, std::uint64_t total, std::string_view what) {
    if (stop_signal.load() != 0) throw Interrupted();
    observer.data_progress(done, total, what);
  };
}

void add_note(PointResult& result, std::string note) {
  if (std::find(result.notes.begin(), result.notes.end(), note) == result.notes.end())
    result.notes.push_back(std::move(note));
}

}  // namespace headrace::engine
