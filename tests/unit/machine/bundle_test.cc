// What is sent of a machine, and what never is.
#include "harness/machine/examine/bundle.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <algorithm>

#include "tests/unit/temporary_folder.h"

namespace headrace::system::bundle_test {
namespace {

TEST(Scrubbed, PathsOfUsersAreTakenOut) {
  EXPECT_EQ(scrubbed("reads /data/secret-project/train.tar, 1/s of mlx5_0/1"), "reads <path>, 1/s of mlx5_0/1");
  EXPECT_EQ(scrubbed("{\"path\": \"/srv/alice/job.yaml\"}"), "{\"path\": \"<path>\"}");
  EXPECT_EQ(scrubbed("nfs server:/export/alice on ~/mine and ../other/alice"),
            "nfs server:<path> on ~<path> and ..<path>");
  EXPECT_EQ(scrubbed("echo none > /sys/block/vda/queue/scheduler"), "echo none > /sys/block/vda/queue/scheduler");
  EXPECT_EQ(scrubbed("/usr/bin/python3 of /proc and a / b"), "/usr/bin/python3 of /proc and a / b");
  EXPECT_EQ(scrubbed("libcuda.so.1 (/opt/alice/lib)"), "libcuda.so.1 (<path>)");
}

TEST(Scrubbed, ValuesOfVariablesThatMayNotBeReported) {
  ::setenv("HEADRACE_TEST_PASSWORD", "correct-horse", 1);
  ::setenv("NCCL_DEBUG", "VERSION-OF-NCCL", 1);
  EXPECT_EQ(scrubbed("mount -o password=correct-horse,ro"), "mount -o password=<removed>,ro");
  EXPECT_EQ(scrubbed("NCCL says VERSION-OF-NCCL"), "NCCL says VERSION-OF-NCCL");
  const std::string reported = reported_environment();
  EXPECT_NE(reported.find("NCCL_DEBUG=VERSION-OF-NCCL\n"), std::string::npos);
  EXPECT_EQ(reported.find("correct-horse"), std::string::npos);
  EXPECT_EQ(reported.find("PASSWORD"), std::string::npos);
  EXPECT_EQ(reported.find("PATH="), std::string::npos);
  ::unsetenv("HEADRACE_TEST_PASSWORD");
  ::unsetenv("NCCL_DEBUG");
}

TEST(KernelBundle, ReportsTopologyCountersAndTheLogOfDevices) {
  const headrace::testing::TemporaryFolder root;
  root.write("sys/bus/pci/devices/0000:1b:00.0/class", "0x030200\n");
  root.write("sys/bus/pci/devices/0000:1b:00.0/current_link_speed", "32.0 GT/s PCIe\n");
  root.write("sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002\n");
  root.write("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  root.write("sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "7\n");
  root.write("proc/cpuinfo", "model name\t: First\n\nmodel name\t: Second\n");
  root.write("dev/kmsg", "6,1,1,-;NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus in /srv/alice/run\n");
  const std::vector<BundleFile> files = kernel_bundle(root.path());
  const auto text = [&](const std::string& name) {
    const auto at = std::find_if(files.begin(), files.end(), [&](const BundleFile& f) { return f.name == name; });
    return at == files.end() ? std::string() : at->text;
  };
  EXPECT_NE(text("pci.txt").find("0000:1b:00.0  0x030200"), std::string::npos) << text("pci.txt");
  EXPECT_NE(
      text("rdma.txt").find("  fw_ver 28.39.1002\n port 1\n  rate 400 Gb/sec (4X NDR)\n  counters/symbol_error 7"),
      std::string::npos)
      << text("rdma.txt");
  EXPECT_NE(text("processors.txt").find("First"), std::string::npos);
  EXPECT_EQ(text("processors.txt").find("Second"), std::string::npos);
  EXPECT_EQ(text("kernel-log.txt"), "6,1,1,-;NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus in <path>\n");
  EXPECT_EQ(text("nvidia.txt"), "");
}

TEST(Archive, IsAGzippedTar) {
  const std::string packed = archive({{"a.txt", std::string(1000, 'a')}, {"b.txt", "b"}}, "folder");
  EXPECT_EQ(packed.substr(10, 11), std::string("folder.tar", 11)) << "the name in the header, with its end";
  std::string tar(1 << 16, '\0');
  z_stream stream{};
  ASSERT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<unsigned>(packed.size());
  stream.next_out = reinterpret_cast<unsigned char*>(tar.data());
  stream.avail_out = static_cast<unsigned>(tar.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  tar.resize(stream.total_out);
  inflateEnd(&stream);
  EXPECT_EQ(tar.size() % 512, 0u);
  EXPECT_EQ(tar.substr(0, 12), "folder/a.txt");
  EXPECT_EQ(tar.substr(512, 1000), std::string(1000, 'a'));
  EXPECT_EQ(tar.substr(512 + 1024, 12), "folder/b.txt");
}

}  // namespace
}  // namespace headrace::system::bundle_test
