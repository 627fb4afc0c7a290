// A made-up /sys with network interfaces and RDMA ports.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/temporary_folder.h"

namespace headrace::testing {

class MadeUpPorts : public ::testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(sys()) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }
  std::string sys() const { return folder_.path(); }

  void card(const std::string& device, const char* speed = "32.0 GT/s PCIe", const char* lanes = "16") {
    put(device + "/current_link_speed", speed);
    put(device + "/max_link_speed", "32.0 GT/s PCIe");
    put(device + "/current_link_width", lanes);
    put(device + "/max_link_width", "16");
    put(device + "/numa_node", "1");
  }
  void ethernet(const std::string& name, const char* speed = "100000", const char* mtu = "9000") {
    const std::string at = "class/net/" + name;
    put(at + "/type", "1");
    put(at + "/operstate", "up");
    put(at + "/speed", speed);
    put(at + "/mtu", mtu);
    put(at + "/statistics/rx_crc_errors", "0");
    card(at + "/device");
  }
  /// An interface without a card; `kind` as DEVTYPE has it, "" = none, or "bridge"; over these others.
  void stacked(const std::string& name, const std::string& kind, const std::vector<std::string>& lower = {}) {
    const std::string at = "class/net/" + name;
    put(at + "/type", "1");
    put(at + "/operstate", "up");
    put(at + "/uevent", (kind.empty() ? "" : "DEVTYPE=" + kind + "\n") + "INTERFACE=" + name);
    if (kind == "bridge") put(at + "/bridge/stp_state", "0");
    if (kind == "bond") put(at + "/bonding/mode", "802.3ad 4");
    for (const std::string& one : lower) {
      std::filesystem::create_directory_symlink("../" + one, sys() + "/" + at + "/lower_" + one);
      if (kind == "bridge" || kind == "bond" || kind == "vrf")
        std::filesystem::create_directory_symlink("../" + name, sys() + "/class/net/" + one + "/master");
    }
  }
  void rdma(const std::string& name, const char* rate = "400 Gb/sec (4X NDR)", const char* state = "4: ACTIVE",
            const char* layer = "InfiniBand") {
    const std::string at = "class/infiniband/" + name;
    put(at + "/ports/1/state", state);
    put(at + "/ports/1/phys_state", "5: LinkUp");
    put(at + "/ports/1/rate", rate);
    put(at + "/ports/1/link_layer", layer);
    put(at + "/ports/1/counters/port_rcv_errors", "0");
    card(at + "/device");
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace headrace::testing
