// NCCL's debug log, switched on around the making of groups and their first operation, and off before timing. NCCL
// shows its decisions nowhere else.
#pragma once

#include <string>
#include <vector>

namespace headrace::nccl {

/// One per process: NCCL's log is.
class DebugLog {
 public:
  /// `reset`: libnccl's ncclResetDebugInit, which makes it read its variables again. Nullptr where this version has
  /// none: then operations themselves are not logged, for that could not be switched off. Before any other call of
  /// NCCL: it reads its variables at the first. Where the user has set NCCL_DEBUG or its like, it stays as it is.
  explicit DebugLog(void (*reset)());
  ~DebugLog();
  DebugLog(const DebugLog&) = delete;
  DebugLog& operator=(const DebugLog&) = delete;

  void on();
  /// The text since on().
  std::string off();
  /// What NCCL complained of since the last off() that could be cut, each once, the last three: "no socket interface
  /// found; ...". "" where it did not, or where nothing is written down.
  std::string complaints() const;
  const std::string& why_deaf() const { return why_deaf_; }
  /// NCCL_* variables in force, "NAME=VALUE", sorted; without those that this class set.
  std::vector<std::string> settings() const;

 private:
  std::string written() const;

  void (*reset_)();
  int file_ = -1;  // memory alone
  bool on_ = false, read_before_ = false;
  std::string why_deaf_;
};

}  // namespace headrace::nccl
