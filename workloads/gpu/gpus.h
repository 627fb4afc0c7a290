// Which GPUs a workload uses, and the NUMA node of its buffers for each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/backends/loader.h"
#include "harness/base/footprint.h"
#include "harness/base/units.h"
#include "harness/machine/node.h"
#include "harness/machine/numa.h"
#include "harness/record/params.h"

namespace headrace::gpu {

inline std::string gpu_name(unsigned index) { return "gpu" + std::to_string(index); }

/// Why no GPU can be used here, or one of them has no room for `bytes`.
inline std::optional<Skip> check_gpus(Node& node, std::uint64_t bytes, unsigned least = 1) {
  if (std::string why = node.backends().why_not(Gives::gpus); !why.empty()) return Skip{std::move(why)};
  GpuBackend& backend = node.backends().gpu();
  if (backend.count() < least)
    return Skip{"needs " + std::to_string(least) + " GPUs, here is " + std::to_string(backend.count())};
  for (unsigned i = 0; i < backend.count(); ++i) {
    const GpuFacts& facts = backend.gpu(i).facts();
    const auto describe = [](std::uint64_t size) {
      return format_quantity(static_cast<double>(size), Dimension::bytes, true);
    };
    if (facts.refuses == "all processes")
      return Skip{gpu_name(i) + " (" + facts.name + ") is in prohibited compute mode: nvidia-smi -c DEFAULT"};
    if (bytes > facts.memory)
      return Skip{gpu_name(i) + " has " + describe(facts.memory) + " of memory, its buffers would take " +
                  describe(bytes)};
  }
  return std::nullopt;
}

/// `numa:`, and what it means for each GPU.
class Placement {
 public:
  static Placement declare(Params& params) {
    const std::string word =
        params.choice("numa", "local", {"local", "remote", "any"},
                      "node that host buffers and the submitting thread are on: the GPU's own, the "
                      "farthest from it, or as they fall");
    Placement placement;
    placement.choice_ = word == "local" ? NumaChoice::local : word == "remote" ? NumaChoice::remote : NumaChoice::any;
    return placement;
  }
  /// Asked for a remote node where there is none.
  std::optional<Skip> check(Node& node) const {
    if (choice_ != NumaChoice::remote) return std::nullopt;
    const std::vector<NumaNode> nodes = numa_nodes();
    GpuBackend& backend = node.backends().gpu();
    for (unsigned i = 0; i < backend.count(); ++i) {
      std::string why;
      if (!choose_numa_node(choice_, backend.gpu(i).facts().numa_node, nodes, why)) return Skip{"numa: remote: " + why};
    }
    return std::nullopt;
  }
  /// null: anywhere. A missing node is noted.
  const NumaNode* node_of(unsigned index, const GpuFacts& facts, std::vector<std::string>& notes) const {
    std::string why;
    const NumaNode* node = choose_numa_node(choice_, facts.numa_node, nodes_, why);
    if (!why.empty()) notes.push_back(gpu_name(index) + ": numa: local: " + why + "; buffers lie anywhere");
    return node;
  }

 private:
  NumaChoice choice_ = NumaChoice::local;
  std::vector<NumaNode> nodes_ = numa_nodes();
};

}  // namespace headrace::gpu
