// The parts of this machine that carry bytes, and the highest rate of each.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/expectations/table.h"

namespace headrace {
class Node;
}

namespace headrace::expectations {

/// One part. Its rate is the physical one, before the usual share.
struct Part {
  std::string kind{};    // of part_kinds()
  std::string name{};    // "gpu0", "mlx5_0/1", "nvme0n1"; of gpu_pair, "gpu0_gpu1"
  std::string model{};   // "NVIDIA H100 80GB HBM3", "NVLink 4", "AMD EPYC 9654"; "" = not reported
  std::string link{};    // how it is attached: "PCIe", "C2C", "SATA", "rotating", "table"; "" = it does not matter
  double units = 1;      // that a table's rate is of: sockets, NVLinks
  double rate = 0;       // [B/s], one way; 0 = not known
  std::string how{};     // "PCIe gen 5 x16"; of an unknown rate, why it is not known
  std::string source{};  // of a rate that a table gave
  bool up = true;        // a port without a link carries nothing
};

/// The parts of this machine with the data at `path`. Rates that it does not report come from `table`. An entry for a
/// part's own name (not its model) overrides the machine's report. `root` has /proc and /sys; tests set their own.
/// Never throws.
std::vector<Part> parts_of(Node& node, const std::string& path, const Table& table, const std::string& root = "");

/// The same for parts that were stored: rates that `table` gives by name.
void apply_rates(std::vector<Part>& parts, const Table& table);

}  // namespace headrace::expectations
