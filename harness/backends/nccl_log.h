// The decisions in NCCL's debug log (NCCL_DEBUG=INFO; subsystems INIT, GRAPH, NET, P2P, SHM, TUNING). They are
// transports between ranks, algorithm and protocol of operations, and the topology. There is no call that reports
// these. Reads the logs of NCCL 2.18 to 2.32; lines that it does not know say nothing.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace {

/// How often which value was said of a thing. Of several ranks: all of theirs, counts added.
struct NcclLog {
  std::map<std::string, std::map<std::string, unsigned>> said;
  bool empty() const { return said.empty(); }
};

/// Any text; other lines may be in between.
NcclLog read_nccl_log(std::string_view text);

NcclLog merged(const NcclLog& a, const NcclLog& b);
/// One line for each value, and back: for other processes.
std::string to_words(const NcclLog& log);
NcclLog from_words(std::string_view words);

/// By name, for the run file: "transport", "connections", "algorithm", "protocol", "channels", "network", "devices",
/// "gpu_direct", "gpu_direct_pairs", "pairs_by_host_memory", "topology", "paths", "ring", "nvls". Only reported facts.
std::vector<std::pair<std::string, std::string>> facts_of(const NcclLog& log);

/// "NVLink + RoCE, GPUDirect; Ring LL128".
std::string in_short(const NcclLog& log);

}  // namespace headrace
