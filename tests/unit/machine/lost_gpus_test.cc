// GPUs on the PCI bus that their driver does not list: on made-up trees of /sys, /proc and /dev.
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/machine/lost_gpus.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::system::lost_gpus_test {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;
using Addresses = std::vector<std::string>;

struct LostGpus : ::testing::Test {
  TemporaryFolder root;

  std::string put(const std::string& file, const std::string& text) {
    fs::create_directories(fs::path(root / file).parent_path());
    root.write(file, text + "\n");
    return file;
  }
  void function(const std::string& address, const std::string& kind, const std::string& model,
                const std::string& driver, const std::string& vendor = "0x10de") {
    const std::string own = "sys/bus/pci/devices/" + address;
    put(own + "/vendor", vendor);
    put(own + "/class", kind);
    put(own + "/device", model);
    if (driver.empty()) return;
    fs::create_directories(root / ("sys/bus/pci/drivers/" + driver));
    fs::create_directory_symlink(root / ("sys/bus/pci/drivers/" + driver), root / (own + "/driver"));
  }
  /// What the driver reports on it, and its device file.
  void describe(const std::string& address, int minor, bool file = true) {
    put("proc/driver/nvidia/gpus/" + address + "/information",
        "Model: \t\t NVIDIA H100\nDevice Minor: \t " + std::to_string(minor));
    if (file) put("dev/nvidia" + std::to_string(minor), "");
  }
  Addresses lost(const Addresses& listed) { return lost_gpus(listed, root / ""); }

  static std::string at(int i) { return "0000:" + std::to_string(10 + i) + ":00.0"; }
  /// Eight of one model, as a DGX has them; beside them a bridge, a NIC and a sound card.
  Addresses eight() {
    Addresses all;
    for (int i = 0; i < 8; ++i) {
      function(at(i), "0x030200", "0x2330", "nvidia");
      describe(at(i), i);
      all.push_back(at(i));
    }
    function("0000:05:00.0", "0x068000", "0x22a3", "nvidia-nvswitch");
    function("0000:06:00.0", "0x020000", "0x1021", "mlx5_core", "0x15b3");
    function("0000:07:00.1", "0x040300", "0x22ba", "snd_hda_intel");
    return all;
  }
};

TEST_F(LostGpus, OneThatIsNotListedIsLost) {
  Addresses listed = eight();
  EXPECT_EQ(lost(listed), Addresses{});
  listed.erase(listed.begin() + 3);
  EXPECT_EQ(lost(listed), Addresses{at(3)});
  listed.pop_back();
  EXPECT_EQ(lost(listed), (Addresses{at(3), at(7)}));
}

/// Its driver could not start it: none has it, and nothing is reported about it.
TEST_F(LostGpus, OneThatNoDriverHasIsLost) {
  const Addresses listed = eight();
  function("0000:20:00.0", "0x030200", "0x2330", "");
  EXPECT_EQ(lost(listed), Addresses{"0000:20:00.0"});
}

TEST_F(LostGpus, HiddenGpusAreNotLost) {
  const Addresses listed = eight();
  function("0000:20:00.0", "0x030200", "0x2330", "vfio-pci");  // a virtual machine's
  function("0000:21:00.0", "0x030200", "0x2330", "nouveau");
  function("0000:22:00.0", "0x030200", "0x2330", "nvidia");  // another container's: nothing is reported about it
  function("0000:23:00.0", "0x030200", "0x2330", "nvidia");  // without a device file here
  describe("0000:23:00.0", 23, false);
  EXPECT_EQ(lost(listed), Addresses{});
}

/// The old card of a workstation, which this driver does not know, beside two that compute.
TEST_F(LostGpus, ACardThatDrivesADisplayIsNot) {
  function("0000:01:00.0", "0x030000", "0x2684", "nvidia");
  function("0000:02:00.0", "0x030000", "0x2684", "nvidia");
  function("0000:03:00.0", "0x030000", "0x128b", "");
  EXPECT_EQ(lost({"0000:01:00.0", "0000:02:00.0"}), Addresses{});
  EXPECT_EQ(lost({"0000:01:00.0"}), Addresses{"0000:02:00.0"});  // of the same model
}

TEST_F(LostGpus, WithoutAddressesNumbersAreCompared) {
  eight();
  EXPECT_EQ(lost(Addresses(8)), Addresses{});
  EXPECT_EQ(lost(Addresses(7)).size(), 1u);
  EXPECT_EQ(lost(Addresses(9)), Addresses{});
}

TEST_F(LostGpus, WithoutNvidiasCardsNoneIs) {
  EXPECT_EQ(lost({}), Addresses{});
  function("0000:06:00.0", "0x030000", "0x1111", "bochs-drm", "0x1234");
  EXPECT_EQ(lost({""}), Addresses{});
}

}  // namespace
}  // namespace headrace::system::lost_gpus_test
