// Exit codes as the callers of headrace want them: batch systems, health checks, monitoring.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::results {

enum class ExitMap { headrace, posix, ctest, nagios, slurm_prolog, nhc, npd };

/// "headrace", "posix", "ctest", "nagios", "slurm-prolog", "nhc", "npd" ("slurm" is "slurm-prolog").
std::optional<ExitMap> exit_map_named(std::string_view name);
std::vector<std::string> exit_map_names();

/// Further facts for a caller, in addition to the code.
enum class Remark {
  none,
  thin,           // a need was met with little to spare
  nothing_asked,  // the run was compared with no needs: it has no verdict
};

/// headrace's exit code as `map` has it.
///
///   posix          0 for 0, else 1
///   ctest          77 stays (skipped), 0 for 0, else 1
///   nagios         0 OK, 1 WARNING (thin), 2 CRITICAL (FAIL), 3 UNKNOWN (all else, and nothing
///                  asked)
///   slurm-prolog   1 for FAIL alone: a non-zero prolog drains the node, and a tool's error or a
///                  missing verdict says nothing about the node. Also where nothing was asked: such
///                  a check was set up wrongly, and can never find a bad node
///   nhc            the same
///   npd            node-problem-detector's: 0 OK, 1 for FAIL, 2 unknown (all else, and nothing asked)
int mapped_exit(ExitMap map, int code, Remark remark);

}  // namespace headrace::results
