// The kernel's log on devices since it started.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::system {

/// The last lines of the log in which one of `words` occurs, as /dev/kmsg has them ("4,1234,5678901,-;mlx5_core ...").
/// Nothing where the log cannot be read. `root` is where /dev is looked for.
std::optional<std::string> kernel_log(const std::string& root, std::span<const std::string_view> words);

/// An error that a driver logged of one of its devices.
struct LoggedError {
  std::string address;                    // on the PCI bus: "0000:17:00.0"
  unsigned number = 0;                    // of an Xid, or of an SXid of a switch between GPUs
  bool of_switch = false, fatal = false;  // `fatal`: of a switch, by its driver
  unsigned times = 1;
  double last_s = 0;  // since the kernel started

  /// "Xid 79", "SXid 20034".
  std::string name() const;
};
/// NVIDIA's Xids and SXids in lines of kernel_log(), each number of each device once.
std::vector<LoggedError> logged_errors(std::string_view log);
/// The errors in this machine's log; nothing where it cannot be read.
std::optional<std::vector<LoggedError>> logged_errors_here(const std::string& root = "");

}  // namespace headrace::system
