// What NCCL says in its debug log (NCCL_DEBUG=INFO; subsystems INIT, GRAPH, NET, P2P, SHM, TUNING) of what it decided:
// by which transport ranks are connected, with which algorithm and protocol an operation is done, over which topology.
// There is no call that reports these. Reads the logs of NCCL 2.18 to 2.30; lines that it does not know say nothing.
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

/// Any text; other lines may stand between.
NcclLog read_nccl_log(std::string_view text);

NcclLog merged(const NcclLog& a, const NcclLog& b);
/// One line for each value, and back: for other processes.
std::string to_words(const NcclLog& log);
NcclLog from_words(std::string_view words);

/// By name, for the run file: "transport", "connections", "algorithm", "protocol", "channels", "network", "devices",
/// "gpu_direct", "topology", "paths", "ring", "nvls". Only what was said.
std::vector<std::pair<std::string, std::string>> facts_of(const NcclLog& log);

/// "NVLink + RoCE, GPUDirect; Ring LL128".
std::string in_short(const NcclLog& log);

}  // namespace headrace
