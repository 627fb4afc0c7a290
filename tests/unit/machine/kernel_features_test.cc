#include "harness/base/system/kernel_features.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace headrace::system::kernel_features_test {
namespace {

TEST(KernelFeatures, AskWithoutChangingAnything) {
  utsname name{};
  ASSERT_EQ(uname(&name), 0);
  const KernelFeatures first = kernel_features();
  EXPECT_EQ(first.release, name.release);
  EXPECT_EQ(first.architecture, name.machine);
  const KernelFeatures second = kernel_features();
  EXPECT_EQ(first.no_io_uring, second.no_io_uring);
  EXPECT_EQ(first.no_cachestat, second.no_cachestat);
}

}  // namespace
}  // namespace headrace::system::kernel_features_test
