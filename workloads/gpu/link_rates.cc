#include "workloads/gpu/link_rates.h"

#include <cstdint>

#include "harness/base/system/kernel_files.h"
#include "harness/job/formula.h"
#include "harness/machine/pci_path.h"

namespace headrace {
namespace {

using job::apply;

constexpr double kPacketOverhead = 24;  // [B] framing, sequence number, header and checksum of one packet

}  // namespace

double link_raw_bandwidth(const PcieLink& link) {
  const auto generation = system::pcie_generation(link.generation);
  if (!generation || link.width == 0) return 0;
  return apply("pcie_raw_bandwidth", {{"lane_transfers_per_s", generation->gigatransfers_per_s * 1e9},
                                      {"lanes_count", link.width},
                                      {"encoding_ratio", generation->encoding}})
      .value();
}

double link_raw_bandwidth(const GpuFacts& facts, const PcieLink& now) {
  return facts.beside_pcie() ? facts.c2c.rate : link_raw_bandwidth(now);
}

double link_effective_bandwidth(double raw, unsigned max_payload) {
  return apply(
             "pcie_effective_bandwidth",
             {{"raw_bytes_per_s", raw}, {"max_payload_bytes", max_payload}, {"packet_overhead_bytes", kPacketOverhead}})
      .value();
}

unsigned pcie_max_payload(const std::string& pci_address, const std::string& root) {
  constexpr std::size_t kFirst = 0x34;  // where the list of capabilities begins
  constexpr unsigned char kExpress = 0x10;
  const std::string space = system::read_text(root + "/sys/bus/pci/devices/" + pci_address + "/config").value_or("");
  const auto byte = [&](std::size_t at) -> unsigned char {
    return at < space.size() ? static_cast<unsigned char>(space[at]) : 0;
  };
  std::size_t at = byte(kFirst);
  for (int hops = 0; at >= 0x40 && at + 10 <= space.size() && hops < 48; ++hops) {
    if (byte(at) == kExpress) return 128u << ((byte(at + 8) >> 5) & 7);  // Device Control, bits 7:5
    at = byte(at + 1);
  }
  return 0;
}

PageableBounds pageable_bounds(double memcpy_rate, double pinned_rate) {
  return {
      apply("pageable_h2d_serial", {{"memcpy_bytes_per_s", memcpy_rate}, {"pinned_h2d_bytes_per_s", pinned_rate}})
          .value(),
      apply("pageable_h2d_pipelined", {{"memcpy_bytes_per_s", memcpy_rate}, {"pinned_h2d_bytes_per_s", pinned_rate}})
          .value()};
}

double exposed_copy_time(double batch_bytes, double rate, double compute_s, bool asynchronous) {
  return apply("h2d_exposed_time", {{"batch_bytes", batch_bytes},
                                    {"h2d_bytes_per_s", rate},
                                    {"compute_time_s", compute_s},
                                    {"asynchronous", asynchronous ? 1.0 : 0.0}})
      .value();
}

}  // namespace headrace
