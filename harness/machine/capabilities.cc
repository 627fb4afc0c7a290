#include "harness/machine/capabilities.h"

#include <linux/capability.h>

#include <cstdint>
#include <cstdlib>

#include "harness/base/system/kernel_files.h"

namespace headrace::system {
namespace {

/// Of a user namespace a process has capabilities that the kernel's drivers do not take.
bool is_first_user_namespace(const std::string& root) {
  const auto words = split(read_line(root + "/proc/self/uid_map").value_or(""), ' ');
  constexpr std::uint64_t kAll = 4294967295;
  return words.empty() || number_at(words, 2) == kAll;
}

}  // namespace

bool may_lock_all_memory(const std::string& root) {
  const auto set = field(read_text(root + "/proc/self/status").value_or(""), "CapEff");
  const std::uint64_t bits = set ? std::strtoull(set->c_str(), nullptr, 16) : 0;
  return (bits >> CAP_IPC_LOCK & 1) != 0 && is_first_user_namespace(root);
}

}  // namespace headrace::system
