#include "harness/machine/pci_path.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "harness/base/system/kernel_files.h"

namespace headrace::system {

std::vector<std::string> pci_path(const std::string& address, const std::string& root) {
  if (address.empty()) return {};
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::canonical(root + "/sys/bus/pci/devices/" + address, failed);
  std::vector<std::string> path;
  for (const std::filesystem::path& part : failed ? std::filesystem::path() : whole) {
    const std::string name = part.string();
    if (name.starts_with("pci") || !path.empty()) path.push_back(name);
  }
  return path;
}

unsigned shared_way(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<unsigned>(end - a.begin());
}

namespace {

constexpr int kMostCapabilities = 64;  // of a list that leads nowhere

/// Four bytes of a device's configuration space; 0 beyond its end, and beyond what this user may read.
std::uint32_t config_word(const std::string& space, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    if (at + i < space.size()) value |= std::uint32_t{static_cast<unsigned char>(space[at + i])} << (8 * i);
  return value;
}

}  // namespace

bool redirects_peers(const std::string& bridge, const std::string& root) {
  constexpr std::size_t kFirst = 0x100;                         // where the list of extended capabilities begins
  constexpr unsigned kAccessControl = 0x0d, kRedirects = 0x0c;  // requests, and their completions
  const std::string space = read_text(root + "/sys/bus/pci/devices/" + bridge + "/config").value_or("");
  std::size_t at = kFirst;
  for (int hops = 0; at >= kFirst && hops < kMostCapabilities; ++hops) {
    const std::uint32_t header = config_word(space, at);
    if ((header & 0xffff) == kAccessControl) return (config_word(space, at + 4) >> 16 & kRedirects) != 0;
    at = header >> 20;
  }
  return false;
}

bool keeps_strict_order(const std::string& device_path) {
  constexpr unsigned kList = 0x34, kExpress = 0x10, kControl = 8;
  constexpr std::uint32_t kRelaxedOrdering = 0x0010, kReadRequests = 0x7000;
  const std::string space = read_text(device_path + "/config").value_or("");
  std::size_t at = config_word(space, kList) & 0xfc;
  for (int hops = 0; at != 0 && hops < kMostCapabilities; ++hops) {
    const std::uint32_t header = config_word(space, at);
    const std::uint32_t control = config_word(space, at + kControl);
    // A virtual function has zeros there: its card's own function decides.
    if ((header & 0xff) == kExpress) return (control & kReadRequests) != 0 && (control & kRelaxedOrdering) == 0;
    at = header >> 8 & 0xfc;
  }
  return false;
}

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
