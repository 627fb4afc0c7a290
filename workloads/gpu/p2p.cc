// p2p - copies from each GPU's memory to each other one's, where they reach each other without the
// host.
#include "workloads/gpu/device_copies.h"

#include "harness/backends/loader.h"

namespace {
using namespace headrace;

/// How fast does each pair of GPUs exchange data?
class P2p final : public gpu::DeviceCopies {
 public:
  explicit P2p(Params& p) : DeviceCopies(p) {
    target_copies_ = p.choice("initiator", "source", {"source", "target"},
                              "which GPU copies: the source writes, or the target reads") == "target";
    both_ = p.choice("direction", "one_way", {"one_way", "both"},
                     "both: with other copies in the opposite direction; this direction is measured") == "both";
  }
  std::optional<Skip> check(Node& node) override {
    if (auto skip = gpu::check_gpus(node, 0, 2)) return skip;
    // Its source, and a target for each other GPU.
    if (auto skip = gpu::check_gpus(node, size_ * node.backends().gpu().count())) return skip;
    if (gpu_pairs(node.backends().gpu()).empty()) return Skip{"no GPU reaches another one's memory without the host"};
    return std::nullopt;
  }

 private:
  unsigned planned_pairs() const override { return gpu::PlannedNode::pairs; }
  std::vector<std::pair<unsigned, unsigned>> gpu_pairs(GpuBackend& backend) const override {
    std::vector<std::pair<unsigned, unsigned>> all;
    for (unsigned from = 0; from < backend.count(); ++from) {
      for (unsigned to = 0; to < backend.count(); ++to) {
        if (from != to && reaches(backend, target_copies_ ? to : from, target_copies_ ? from : to))
          all.emplace_back(from, to);
      }
    }
    return all;
  }
  /// Both ways, where both GPUs copy.
  bool reaches(GpuBackend& backend, unsigned copies, unsigned other) const {
    return backend.gpu(copies).reaches(backend.gpu(other)) &&
           (!both_ || backend.gpu(other).reaches(backend.gpu(copies)));
  }
};

const Register<P2p> registered_p2p{"p2p",
                                   "copies between every two GPUs that reach each other without the host: a matrix"};
}  // namespace
