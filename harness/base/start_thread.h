// Threads that may be refused: limits on processes and memory are usual in containers.
#pragma once

#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "harness/base/error.h"

namespace headrace {

/// The system refuses a thread; names the limits to look at.
struct NoThread : RunError {
  using RunError::RunError;
};

[[noreturn]] void throw_no_thread(const std::system_error& refused);

/// Thread(arguments...). Throws NoThread.
template <class Thread = std::jthread, class... Arguments>
Thread start_thread(Arguments&&... arguments) {
  try {
    return Thread(std::forward<Arguments>(arguments)...);
  } catch (const std::system_error& e) {
    throw_no_thread(e);
  }
}

/// Threads that share the work of `body` by themselves: `count` of them or, where the system refuses some, fewer. Throws
/// NoThread where it refuses the first.
std::vector<std::jthread> start_threads(unsigned count, const std::function<void(unsigned number)>& body);

}  // namespace headrace
