// Ending when storage does not let go: the process that the caller waits for never touches storage.
#pragma once

#include <functional>

namespace headrace::session {

/// A launcher such as mpirun ends all processes within a second when one of them fails. The first of several then still
/// writes its files, though its caller is gone; another one that was killed waits for that.
enum class Role { only, first, other };

/// Runs `work` in a child process, hands signals on to it, and returns its exit code; a child that
/// a signal killed kills this process the same way. A thread that waits in the kernel for storage
/// can often not be killed, and a process with such a thread never ends for the one that waits for
/// it: there the child hands over its exit code with leave(), and this process ends without it.
/// Called before any thread is started. Where no process can be made, `work` runs in this one.
int supervised(const std::function<int()>& work, Role role = Role::only);

/// What a signal to stop is among those that came before. timeout(1), job managers and terminals
/// signal a process and its group together: that is one request. For signal handlers.
enum class Request { first, same, again };
Request count_request() noexcept;

/// In the child: hands over `code`, lets go of the standard streams, which must have been emptied, and ends as far as the
/// kernel lets it, without waiting for threads or destroying what they use.
[[noreturn]] void leave(int code);

}  // namespace headrace::session
