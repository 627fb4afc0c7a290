// d2d - copies within each GPU's memory. Each byte is read and written: half of the memory's rate is the most.
#include "workloads/gpu/device_copies.h"

namespace {
using namespace headrace;

/// How fast does a GPU copy within its own memory?
class D2d final : public gpu::DeviceCopies {
 public:
  explicit D2d(Params& p) : DeviceCopies(p) {}
  std::optional<Skip> check(Node& node) override { return gpu::check_gpus(node, 2 * size_); }

 private:
  unsigned planned_pairs() const override { return gpu::PlannedNode::gpus; }
  std::vector<std::pair<unsigned, unsigned>> gpu_pairs(GpuBackend& backend) const override {
    std::vector<std::pair<unsigned, unsigned>> all;
    for (unsigned i = 0; i < backend.count(); ++i) all.emplace_back(i, i);
    return all;
  }
};

const Register<D2d> registered_d2d{"d2d", "copies within each GPU's memory, by its copy engine"};
}  // namespace
