// Devices as the kernel shows them in /sys, made up: most of these drivers are not in the kernel that runs the tests.
#include "harness/machine/storage_stack.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "harness/machine/mount.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::system::storage_stack_test {
namespace {

namespace fs = std::filesystem;
using headrace::testing::TemporaryFolder;

/// A /sys and a /proc of its own.
class Machine {
 public:
  /// `where`: the folder below /sys/devices that the device is in. Returns the device's.
  fs::path add(const std::string& name, const std::string& number, const std::string& where = "virtual/block") const {
    const fs::path folder = root_.path() / fs::path("sys/devices") / where / name;
    fs::create_directories(folder / "slaves");
    for (const fs::path& link :
         {root_.path() / fs::path("sys/dev/block") / number, root_.path() / fs::path("sys/block") / name,
          root_.path() / fs::path("sys/class/block") / name}) {
      fs::create_directories(link.parent_path());
      fs::create_symlink(folder, link);
    }
    write(folder / "dev", number);
    write(folder / "size", "2048");
    return folder;
  }
  fs::path disk(const std::string& name, const std::string& number) const {
    return add(name, number, "pci0000:00/0000:00:05.0/block");
  }
  fs::path loop(const std::string& name, const std::string& number, const std::string& file, bool direct) const {
    const fs::path folder = add(name, number);
    write(folder / "loop/backing_file", file);
    write(folder / "loop/dio", direct ? "1" : "0");
    write(folder / "loop/offset", "0");
    return folder;
  }
  static void put_on(const fs::path& upper, const fs::path& lower) {
    fs::create_symlink(lower, upper / "slaves" / lower.filename());
  }
  static void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  std::string path() const { return root_.path(); }
  StorageStack stack(const std::string& number) const { return device_stack(number, path()); }
  /// Why it is no storage, or "".
  std::string why(const std::string& number) const { return stack(number).not_storage; }

 private:
  TemporaryFolder root_;
};

TEST(StorageStack, ADiskAndItsPartitionAreStorage) {
  const Machine m;
  const fs::path disk = m.disk("sda", "8:0");
  Machine::write(disk / "sda1/partition", "1");
  fs::create_symlink(disk / "sda1", fs::path(m.path()) / "sys/dev/block/8:1");
  m.add("nvme0n1", "259:0", "virtual/nvme-subsystem/nvme-subsys0");  // of a disk with several paths
  for (const char* number : {"8:0", "8:1", "259:0"}) EXPECT_EQ(m.why(number), "") << number;
}

TEST(StorageStack, DriversInSoftwareAreNot) {
  const Machine m;
  struct {
    const char *name, *number, *words;
  } const all[] = {{"zram0", "252:0", "zram0 keeps its blocks compressed in memory"},
                   {"ram0", "1:0", "ram0 keeps its blocks in memory"},
                   {"nbd0", "43:0", "nbd0 reads from a server, whose cache is not seen"},
                   {"nullb0", "250:0", "nullb0 keeps no blocks on storage"},
                   {"zd0", "230:0", "zd0 reads through the cache of ZFS"},
                   {"ublkb0", "259:9", "ublkb0 reads from a program"},
                   {"vendor0", "240:0", "vendor0 is made by a driver in software"},
                   {"dm-9", "253:9", "dm-9 is made by a driver in software"},  // dm-zero has nothing below
                   {"loop9", "7:9", "loop9 is made by a driver in software"}};
  for (const auto& [name, number, words] : all) {
    m.add(name, number);
    EXPECT_NE(m.why(number).find(words), std::string::npos) << m.why(number);
  }
}

TEST(StorageStack, DeviceMapperAndMdConsistOfTheirDevices) {
  const Machine m;
  const fs::path a = m.disk("sda", "8:0"), b = m.disk("sdb", "8:16"), memory = m.add("ram0", "1:0");
  const fs::path crypt = m.add("dm-0", "253:0"), mirror = m.add("md0", "9:0"), volume = m.add("dm-1", "253:1");
  Machine::put_on(crypt, a);
  Machine::put_on(mirror, crypt);
  Machine::put_on(mirror, b);
  EXPECT_EQ(m.why("9:0"), "");
  EXPECT_EQ(m.stack("9:0").layers, (std::vector<std::string>{"md0 is on dm-0, sdb", "dm-0 is on sda"}));
  Machine::put_on(volume, a);
  Machine::put_on(volume, memory);
  EXPECT_EQ(m.why("253:1"), "ram0 keeps its blocks in memory") << "one of its members";
}

TEST(StorageStack, TheCachesOfBcacheCount) {
  const Machine m;
  const fs::path backing = m.disk("sda", "8:0"), ssd = m.disk("sdb", "8:16"), device = m.add("bcache0", "252:0");
  Machine::put_on(device, backing);
  const fs::path set = fs::path(m.path()) / "sys/fs/bcache/5b6a";
  fs::create_directories(set);
  fs::create_directories(backing / "bcache");
  fs::create_symlink(set, backing / "bcache/cache");
  fs::create_symlink(backing / "bcache", device / "bcache");
  fs::create_directories(ssd / "bcache");
  fs::create_symlink(ssd / "bcache", set / "cache0");
  Machine::write(set / "cache_available_percent", "100");
  EXPECT_EQ(m.why("252:0"), "");
  EXPECT_EQ(m.stack("252:0").layers, (std::vector<std::string>{"bcache0 is on sda, sdb"}));
  const fs::path memory = m.add("ram1", "1:1");
  fs::create_directories(memory / "bcache");
  fs::create_symlink(memory / "bcache", set / "cache1");
  EXPECT_EQ(m.why("252:0"), "ram1 keeps its blocks in memory");
}

TEST(StorageStack, PersistentMemoryIsStorageOnlyWithModules) {
  const Machine m;
  for (const auto& [name, number, provider] :
       {std::tuple("pmem0", "259:0", "ACPI.NFIT"), std::tuple("pmem1", "259:1", "e820"),
        std::tuple("pmem2", "259:2", "virtio-pmem")}) {
    const std::string bus = std::string("bus-") + name;
    const fs::path device = m.add(name, number, bus + "/region0/namespace0.0/block");
    Machine::write(fs::path(m.path()) / "sys/devices" / bus / "provider", provider);
    fs::create_symlink(device.parent_path().parent_path(), device / "device");
    EXPECT_EQ(m.why(number).empty(), std::string(name) == "pmem0") << m.why(number);
  }
}

TEST(StorageStack, DisksThatTheKernelPlaysAreNot) {
  const Machine m;
  for (const auto& [name, number, file, text] :
       {std::tuple("sda", "8:0", "model", "scsi_debug"), std::tuple("sdb", "8:16", "model", "RAMDISK-MCP"),
        std::tuple("sdc", "8:32", "model", "FILEIO"), std::tuple("nvme0n1", "259:0", "transport", "loop")}) {
    Machine::write(m.disk(name, number) / "device" / file, text);
    EXPECT_NE(m.why(number), "") << name;
  }
  Machine::write(m.disk("sdd", "8:48") / "device/model", "SAMSUNG MZ7LH960");
  Machine::write(m.disk("nvme1n1", "259:1") / "device/transport", "pcie");
  EXPECT_EQ(m.why("8:48") + m.why("259:1"), "");
}

class LoopDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto shm = mount_of("/dev/shm");
    if (!shm || shm->type != "tmpfs") GTEST_SKIP() << "/dev/shm is no tmpfs";
    if (!storage_stack(std::vector{tmp_.path()}).not_storage.empty() ||
        !storage_stack(std::vector{tmp_.path()}).buffered.empty())
      GTEST_SKIP() << "the temporary folder is on no disk";
    tmp_.write("image", std::string(1 << 20, 'x'));
    in_memory_ = "/dev/shm/headrace_test_" + std::to_string(::getpid());
    std::ofstream(in_memory_) << std::string(1 << 20, 'x');
  }
  void TearDown() override { fs::remove(in_memory_); }

  const Machine m{};
  TemporaryFolder tmp_;
  std::string in_memory_ = "none";
};

TEST_F(LoopDevice, IsTheDeviceOfItsFile) {
  m.loop("loop0", "7:0", tmp_ / "image", true);
  EXPECT_EQ(m.why("7:0"), "");
  EXPECT_TRUE(m.stack("7:0").buffered.empty());
  m.loop("loop1", "7:1", in_memory_, true);
  EXPECT_EQ(m.why("7:1"),
            "loop1 reads " + in_memory_ + ", and tmpfs keeps files in memory: there is no storage below it");
}

TEST_F(LoopDevice, WithoutDirectIoHasASecondCache) {
  m.loop("loop0", "7:0", tmp_ / "image", false);
  const StorageStack stack = m.stack("7:0");
  EXPECT_EQ(stack.not_storage, "");
  ASSERT_EQ(stack.buffered.size(), 1u);
  EXPECT_EQ(stack.buffered[0].path, tmp_ / "image");
  EXPECT_EQ(why_buffered(stack), "loop0 reads " + tmp_ / "image" +
                                     " through the page cache, which may serve its bytes: losetup --direct-io=on "
                                     "/dev/loop0");
  const fs::path upper = m.add("dm-0", "253:0");  // device mapper over it is no better
  Machine::put_on(upper, fs::path(m.path()) / "sys/devices/virtual/block/loop0");
  EXPECT_EQ(m.stack("253:0").buffered.size(), 1u);
}

TEST_F(LoopDevice, AMissingOrReplacedFileIsNotFollowed) {
  m.loop("loop0", "7:0", "/memfd:image (deleted)", true);
  EXPECT_NE(m.why("7:0").find("has no name any more"), std::string::npos) << m.why("7:0");
  m.loop("loop1", "7:1", tmp_ / "not-there", true);
  EXPECT_NE(m.why("7:1").find("cannot be seen from here"), std::string::npos) << m.why("7:1");
  tmp_.write("small", "another file of that name, in this container");
  m.loop("loop2", "7:2", tmp_ / "small", true);
  EXPECT_NE(m.why("7:2").find("cannot be seen from here"), std::string::npos) << m.why("7:2");
}

TEST(StorageStack, WithoutSysADisksNameIsBelieved) {
  const Machine m;  // with no devices: /sys is hidden
  Machine::write(fs::path(m.path()) / "proc/partitions",
                 "major minor  #blocks  name\n\n"
                 " 254        0  268435456 vda\n   7        1      65536 loop1\n"
                 " 253        0      65536 dm-0\n   9        0      65536 md0");
  EXPECT_EQ(m.why("254:0"), "");
  EXPECT_EQ(m.why("7:1"), "/sys does not show the devices below loop1");
  EXPECT_EQ(m.why("253:0"), "/sys does not show the devices below dm-0");
  EXPECT_EQ(m.why("9:0"), "/sys does not show the devices below md0");
  EXPECT_EQ(m.why("8:0"), "/sys does not show the devices below device 8:0");
}

TEST(StorageStack, FilesInMemoryAreNot) {
  const auto shm = mount_of("/dev/shm");
  if (!shm || shm->type != "tmpfs") GTEST_SKIP() << "/dev/shm is no tmpfs";
  EXPECT_EQ(storage_stack(std::vector<std::string>{"/dev/shm/not/there/yet"}).not_storage,
            "tmpfs keeps files in memory: there is no storage below it");
}

}  // namespace
}  // namespace headrace::system::storage_stack_test
