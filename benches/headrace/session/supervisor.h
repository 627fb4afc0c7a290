// Ending when storage does not let go: the process that the caller waits for never touches storage.
#pragma once

#include <functional>

namespace headrace::session {

/// A launcher such as mpirun ends all processes within a second when one of them fails. The first of several then still
/// writes its files, though its caller is gone. Another one that was killed waits for that.
enum class Role { only, first, other };

/// Runs `work` in a child process, hands signals on to it, and returns its exit code. A child that a signal killed
/// kills this process the same way. A thread that waits in the kernel for storage often cannot be killed, and then its
/// process never ends. So the child hands over its exit code with leave(), and this process ends without it. Called
/// before any thread is started. Where no process can be made, `work` runs in this one.
int supervised(const std::function<int()>& work, Role role = Role::only);

/// The kind of a stop signal, given the earlier ones. timeout(1), job managers and terminals signal a process and its
/// group together: that is one request. For signal handlers.
enum class Request { first, same, again };
Request count_request() noexcept;

/// In the child: hands over `code` and closes the standard streams, which must be empty. Ends as far as the kernel
/// allows. It does not wait for threads or destroy their objects.
[[noreturn]] void leave(int code);

}  // namespace headrace::session
