#include "harness/machine/rdma_counters.h"

#include <fmt/format.h>

#include "harness/base/system/kernel_files.h"

namespace headrace::system {
namespace {

// In either folder, depending on the driver.
constexpr std::array<std::string_view, 6> kOwnErrors{
    "symbol_error",    "link_error_recovery",         "link_downed",
    "port_rcv_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors"};
// Counters of the sending end: mlx5 (the first two), bnxt_re, irdma, rxe.
constexpr std::array<std::string_view, 6> kSentAgain{"packet_seq_err", "local_ack_timeout_err",
                                                     "to_retransmits", "seq_err_naks_rcvd",
                                                     "tcpRetransSegs", "completer_retry_err"};

/// As wide as InfiniBand's performance management has them (specification 1, 16.1.3.5); those of other drivers are wider.
std::uint64_t most_of(std::string_view counter) {
  if (counter == "link_error_recovery" || counter == "link_downed") return 0xff;
  if (counter == "local_link_integrity_errors" || counter == "excessive_buffer_overrun_errors") return 0xf;
  return 0xffff;
}

}  // namespace

RdmaCounters rdma_counters(const std::string& port, const std::string& sys) {
  const std::size_t slash = port.find('/');
  RdmaCounters all;
  if (slash == port.npos) return all;
  const std::string folder =
      fmt::format("{}/class/infiniband/{}/ports/{}", sys, port.substr(0, slash), port.substr(slash + 1));
  const auto count = [&](const char* kind, std::string_view name) {
    return read_number(fmt::format("{}/{}/{}", folder, kind, name));
  };
  for (const std::string_view name : kOwnErrors)
    for (const char* kind : {"counters", "hw_counters"})
      if (const auto errors = count(kind, name)) {
        all.own_errors[std::string(name)] = *errors;
        all.reports_errors = true;
        if (*errors > 0 && *errors == most_of(name)) all.full.emplace_back(name);
      }
  for (const std::string_view name : kSentAgain)
    if (const auto times = count("hw_counters", name)) {
      all.sent_again += *times;
      all.reports_again = true;
    }
  return all;
}

}  // namespace headrace::system
