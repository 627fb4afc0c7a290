#include "harness/machine/pcie.h"

#include <array>

namespace headrace::system {
namespace {

// PCI Express base specification. From the sixth on it sends flits of 256 bytes, of which 242 are packets.
constexpr std::array<PcieGeneration, 7> kGenerations{{{2.5, 8.0 / 10},
                                                      {5, 8.0 / 10},
                                                      {8, 128.0 / 130},
                                                      {16, 128.0 / 130},
                                                      {32, 128.0 / 130},
                                                      {64, 242.0 / 256},
                                                      {128, 242.0 / 256}}};

}  // namespace

std::optional<PcieGeneration> pcie_generation(unsigned number) {
  if (number == 0 || number > kGenerations.size()) return std::nullopt;
  return kGenerations[number - 1];
}

unsigned pcie_generation_at(double gigatransfers_per_s) {
  for (unsigned i = 0; i < kGenerations.size(); ++i)
    if (kGenerations[i].gigatransfers_per_s == gigatransfers_per_s) return i + 1;
  return 0;
}

}  // namespace headrace::system
