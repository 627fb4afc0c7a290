// Where the NCCL of a watched process can be asked, and where it writes: from /proc alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/system/socket.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::observe {

/// The settings of NCCL in a process's initial environment.
struct NcclSettings {
  bool any = false;                // there is a variable of NCCL's
  bool ras = true;                 // NCCL_RAS_ENABLE
  std::uint16_t port = 28028;      // of NCCL_RAS_ADDR
  std::string inspector_folder{};  // as in the process; "": Inspector is not on, or does not write JSON
  bool inspector_for_prometheus = false;
};
/// The settings in the text of /proc/PID/environ.
NcclSettings nccl_settings(std::string_view environment);

/// A socket that waits for connections, of /proc/PID/net/tcp or tcp6.
struct Listening {
  system::SocketAddress at;
  std::string inode;
};
/// Those at `port`, from the text of such a file.
std::vector<Listening> listening_at_port(std::string_view table, std::uint16_t port);

/// The address at which one of the processes listens at that port. For any address it is this host's. `proc`: "/proc",
/// or a test's folder.
std::optional<system::SocketAddress> ras_address(const std::string& proc, int pid, std::uint16_t port);

/// Opens the folder as the process sees it, with its root. None: it is not there, or may not be read.
system::UniqueFd open_for_process(const std::string& proc, int pid, const std::string& folder);

/// The number that the process has in its own container.
int pid_inside(const std::string& proc, int pid);

}  // namespace headrace::observe
