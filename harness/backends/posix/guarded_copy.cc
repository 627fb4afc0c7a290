#include "harness/backends/posix/guarded_copy.h"

#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <cstring>

namespace headrace {
namespace {

thread_local sigjmp_buf* copying = nullptr;     // where a copy goes on when it ends
thread_local const void* unreadable = nullptr;  // where the signal came from

void on_bus_error(int signal, siginfo_t* info, void*) {
  if (copying) {
    unreadable = info->si_addr;
    ::siglongjmp(*copying, 1);
  }
  ::signal(signal, SIG_DFL);  // not ours: comes again when this returns
}

}  // namespace

void catch_bus_errors() {
  static const bool once = [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    ::sigemptyset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_NODEFER;  // left by a jump
    return ::sigaction(SIGBUS, &action, nullptr) == 0;
  }();
  (void)once;
}

bool guarded_copy(unsigned char* to, const unsigned char* from, std::uint64_t length) noexcept {
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) {
    copying = nullptr;
    return false;
  }
  copying = &here;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // set while the copy goes on, for the handler to see
  std::memcpy(to, from, length);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copying = nullptr;
  return true;
}

const void* unreadable_address() noexcept { return unreadable; }

}  // namespace headrace
