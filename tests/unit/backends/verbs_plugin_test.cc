// The verbs plugin as every program meets it: with a device it lists ports, without one it says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "harness/backends/loader.h"
#include "harness/backends/rdma.h"
#include "harness/base/error.h"
#include "harness/machine/network/rdma_place.h"

namespace headrace::verbs_plugin_test {
namespace {

const BackendStatus& verbs(const Backends& backends) {
  const auto& all = backends.status();
  return *std::find_if(all.begin(), all.end(), [](const auto& s) { return s.name == "verbs"; });
}

TEST(VerbsPlugin, NamesTheMissingPart) {
  Backends backends;
  const BackendStatus& status = verbs(backends);
  if (!status.built) {
    EXPECT_EQ(status.reason, "not built into this installation: the build needs libibverbs of rdma-core 34 or later");
    GTEST_SKIP() << status.reason;
  }
  EXPECT_TRUE(status.version.starts_with("libibverbs 1.")) << status.version;
  if (status.usable) GTEST_SKIP() << "this machine has an RDMA device";
  EXPECT_NE(status.reason.find("RDMA"), std::string::npos) << status.reason;
  EXPECT_EQ(backends.why_not("verbs"), "verbs: " + status.reason);
  EXPECT_THROW(backends.rdma(), RunError);
}

TEST(VerbsPlugin, PortsHaveNames) {
  Backends backends;
  if (const std::string why = backends.why_not("verbs"); !why.empty()) GTEST_SKIP() << why;
  ASSERT_FALSE(backends.rdma().ports().empty());
  for (const RdmaPort& port : backends.rdma().ports()) {
    EXPECT_TRUE(std::filesystem::exists("/sys/class/infiniband/" + port.device)) << port.name();
    EXPECT_GT(port.most_queue_pairs, 0u);
    EXPECT_GE(port.most_mtu, port.mtu);
    EXPECT_TRUE(!port.active || port.mtu >= 256u) << port.name();
  }
}

/// An endpoint that talks to itself: whatever the device, what is written arrives.
TEST(VerbsPlugin, WritesToItself) {
  Backends backends;
  if (const std::string why = backends.why_not("verbs"); !why.empty()) GTEST_SKIP() << why;
  RdmaPlace place;
  try {
    place = choose_rdma_place(backends.rdma().ports(), {});
  } catch (const Unsupported& e) {
    GTEST_SKIP() << e.what();
  }
  const auto end = backends.rdma().open(*place.port, {.gid_index = place.gid_index, .tx_depth = 4});
  end->connect(end->address());
  std::vector<unsigned char> memory(8192, 0);
  const auto enrolled = end->enroll(memory);
  std::fill_n(memory.begin(), 4096, 0x5a);
  const RdmaWork work{.op = RdmaOp::write,
                      .length = 4096,
                      .local = memory.data(),
                      .local_key = enrolled->local_key(),
                      .remote_key = enrolled->remote_key(),
                      .remote = reinterpret_cast<std::uint64_t>(memory.data() + 4096),
                      .id = 7};
  ASSERT_EQ(end->post(0, {&work, 1}), 0);
  RdmaCompletion done;
  int count = 0;
  while (count == 0) count = end->poll({&done, 1});
  EXPECT_EQ(count, 1);
  EXPECT_EQ(done.status, 0) << end->why(done.status);
  EXPECT_EQ(done.id, 7u);
  EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), [](unsigned char c) { return c == 0x5a; }));
}

}  // namespace
}  // namespace headrace::verbs_plugin_test
