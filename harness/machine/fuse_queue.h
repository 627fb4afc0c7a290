// Requests of a FUSE mount that its daemon has not answered yet, as the kernel counts them: /sys/fs/fuse/connections.
#pragma once

#include <optional>
#include <string>

#include "harness/machine/mount.h"

namespace headrace::system {

bool is_fuse(const Mount& mount);

class FuseQueue {
 public:
  /// `connections`: where the kernel's control file system is mounted. It lets root and the mount's owner look.
  explicit FuseQueue(const Mount& mount, const std::string& connections = "/sys/fs/fuse/connections");
  /// Of all processes; waiting for the daemon, or with it. Nothing: the mount is no FUSE mount, or may not be looked at.
  std::optional<unsigned> waiting() const noexcept;

 private:
  std::string path_;  // "" = none
};

}  // namespace headrace::system
