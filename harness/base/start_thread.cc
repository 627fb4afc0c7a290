#include "harness/base/start_thread.h"

namespace headrace {

void throw_no_thread(const std::system_error& refused) {
  throw NoThread(
      "start a thread: " + errno_text(refused.code().value()) +
      "; look at the limits on processes (ulimit -u, pids.max of the control group) and on memory (ulimit -v)");
}

std::vector<std::jthread> start_threads(unsigned count, const std::function<void(unsigned number)>& body) {
  std::vector<std::jthread> threads;
  threads.reserve(count);
  try {
    for (unsigned number = 0; number < count; ++number) threads.push_back(start_thread(body, number));
  } catch (const RunError&) {
    if (threads.empty()) throw;
  }
  return threads;
}

}  // namespace headrace
