#include "harness/machine/lost_gpus.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>

#include "harness/base/system/kernel_files.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::system {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNvidia = "0x10de";

struct Function {
  std::string address, model;  // "0000:17:00.0", "0x2330"
  bool display = false;        // a VGA controller: of a workstation, or a management card
};

/// "" = no driver has it.
std::string driver_of(const std::string& function) {
  std::error_code none;
  return fs::read_symlink(function + "/driver", none).filename().string();
}

std::vector<Function> functions(const std::string& root) {
  const std::string folder = root + "/sys/bus/pci/devices";
  std::vector<Function> all;
  for (const std::string& address : entries(folder)) {
    const std::string own = folder + "/" + address;
    if (read_line(own + "/vendor") != kNvidia) continue;
    const std::string kind = read_line(own + "/class").value_or("").substr(0, 6);
    const std::string driver = driver_of(own);
    if ((kind == "0x0302" || kind == "0x0300") && (driver.empty() || driver == "nvidia"))
      all.push_back({address, read_line(own + "/device").value_or(""), kind == "0x0300"});
  }
  return all;
}

/// Is it kept from this process? A container hides what the driver reports on it, a control group refuses its device file.
bool is_withheld(const Function& one, const std::string& root) {
  const std::string reported = root + "/proc/driver/nvidia/gpus";
  if (entries(reported).empty()) return false;
  const auto information = read_text(reported + "/" + one.address + "/information");
  if (!information) return !driver_of(root + "/sys/bus/pci/devices/" + one.address).empty();
  const auto minor = number_field(*information, "Device Minor");
  if (!minor) return false;
  const std::string file = root + "/dev/nvidia" + std::to_string(*minor);
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return !fd && (errno == EPERM || errno == EACCES || errno == ENOENT);
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

std::vector<std::string> lost_gpus(const std::vector<std::string>& listed, const std::string& root) {
  std::vector<Function> all = functions(root);
  std::set<std::string> models;
  for (const Function& one : all)
    if (contains(listed, one.address)) models.insert(one.model);
  std::erase_if(all, [&](const Function& one) {
    return contains(listed, one.address) || (one.display && !models.contains(one.model)) || is_withheld(one, root);
  });
  const auto unknown = static_cast<std::size_t>(std::count(listed.begin(), listed.end(), ""));
  std::vector<std::string> lost;
  for (std::size_t i = unknown; i < all.size(); ++i) lost.push_back(all[i].address);
  return lost;
}

std::string without_gpus(const std::string& root) {
  std::map<std::string, unsigned> count;
  const std::string folder = root + "/sys/bus/pci/devices";
  for (const std::string& address : entries(folder)) {
    const std::string own = folder + "/" + address, kind = read_line(own + "/class").value_or("").substr(0, 6);
    const std::string vendor = read_line(own + "/vendor").value_or("");
    // Integrated graphics of processors are VGA controllers (0x0300).
    const bool accelerator = kind == "0x1200" || kind == "0x0302" || kind == "0x0380";
    if (vendor == kNvidia && (accelerator || kind == "0x0300"))
      ++count["NVIDIA without a driver that works"];
    else if (accelerator && (vendor == "0x1002" || vendor == "0x8086" || vendor == "0x1da3"))
      ++count[vendor == "0x1002" ? "AMD" : vendor == "0x8086" ? "Intel" : "Habana"];
  }
  std::string there;
  for (const auto& [maker, number] : count)
    there += (there.empty() ? "" : ", ") + std::to_string(number) + " of " + maker;
  return "no GPU that headrace drives" + (there.empty() ? "" : " (" + there + "; it drives NVIDIA's)") +
         ": storage, memory, loaders, TCP, RDMA and MPI can be measured";
}

}  // namespace headrace::system
