// d2d - copies within each GPU's memory: the ceiling of everything that moves there.
#include "workloads/gpu/device_copies.h"

namespace {
using namespace headrace;

/// How fast does a GPU copy within its own memory?
class D2d final : public gpu::DeviceCopies {
 public:
  explicit D2d(Params& p) : DeviceCopies(p) {}
  std::optional<Skip> check(Node& node) override { return gpu::check_gpus(node, 2 * size_); }

 private:
  std::vector<std::pair<unsigned, unsigned>> gpu_pairs(GpuBackend& backend) const override {
    std::vector<std::pair<unsigned, unsigned>> all;
    for (unsigned i = 0; i < backend.count(); ++i) all.emplace_back(i, i);
    return all;
  }
};

const Register<D2d> registered{"d2d", "copies within each GPU's memory, by its copy engine"};
}  // namespace
