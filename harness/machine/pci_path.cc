#include "harness/machine/pci_path.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

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

}  // namespace headrace::system
