// The nccl plugin as every program meets it: without a driver or the library it says so.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/backends/loader.h"
#include "harness/backends/nccl.h"
#include "harness/base/error.h"

namespace headrace::nccl_plugin_test {
namespace {

TEST(NcclPlugin, NamesTheMissingPart) {
  Backends backends;
  const auto& all = backends.status();
  const BackendStatus& status = *std::find_if(all.begin(), all.end(), [](const auto& s) { return s.name == "nccl"; });
  if (!status.built) {
    EXPECT_EQ(status.reason,
              "not built into this installation: the build needs nccl.h 2.18 or later and the CUDA Toolkit");
    GTEST_SKIP() << status.reason;
  }
  EXPECT_TRUE(status.version.starts_with("nccl.h 2.")) << status.version;
  if (status.usable) GTEST_SKIP() << "this machine has NCCL and a driver";
  EXPECT_EQ(backends.why_not("nccl"), "nccl: " + status.reason);
  EXPECT_TRUE(status.reason.starts_with("libcuda.so.1 not found") || status.reason.starts_with("libnccl.so.2"))
      << status.reason;
  EXPECT_THROW(backends.nccl(), RunError);
}

TEST(NcclPlugin, ReportsTheLibrarysVersionAndNamesGroups) {
  Backends backends;
  if (const std::string why = backends.why_not("nccl"); !why.empty()) GTEST_SKIP() << why;
  EXPECT_TRUE(backends.nccl().version().starts_with("2.")) << backends.nccl().version();
  const std::string one = backends.nccl().make_id();
  EXPECT_EQ(one.size(), 128u);
  EXPECT_NE(one, backends.nccl().make_id());
  EXPECT_THROW(backends.nccl().join("short", 1, {}, 1), RunError);
}

}  // namespace
}  // namespace headrace::nccl_plugin_test
