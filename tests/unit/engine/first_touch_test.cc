#include "harness/engine/first_touch.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/base/units.h"
#include "harness/machine/cpu.h"

namespace headrace::engine::first_touch_test {
namespace {

TEST(FirstTouch, TakesNoMoreThanIsFreeAndAllowed) {
  EXPECT_EQ(touchable_bytes(1_GiB, 10_GiB, 10_GiB), 1_GiB);
  EXPECT_EQ(touchable_bytes(10_GiB, 20_GiB, 4_GiB), 4_GiB);
  EXPECT_LT(touchable_bytes(10_GiB, 4_GiB, 10_GiB), 4_GiB) << "something stays free";
  EXPECT_EQ(touchable_bytes(1000, 4_GiB, 4_GiB), 0u) << "less than a huge page is nothing";
}

/// In this order: what was touched once is not touched again.
TEST(FirstTouch, OnceAndOnVirtualMachinesOnly) {
  const bool touches = system::cpu_facts().is_virtual;
  EXPECT_EQ(touch_memory(0, 1_GiB, 0, {}).touched_bytes, 0u);
  const FirstTouch first = touch_memory(8_MiB, 1_GiB, 0, {});
  EXPECT_EQ(first.needed_bytes, 8_MiB);
  EXPECT_EQ(first.touched_bytes, touches ? 8_MiB : 0u);
  if (touches) {
    EXPECT_GT(first.elapsed_s, 0);
  }
  EXPECT_EQ(touch_memory(8_MiB, 1_GiB, 0, {}).touched_bytes, 0u) << "was done before";
  EXPECT_EQ(touch_memory(10_MiB, 1_GiB, 0, {}).touched_bytes, touches ? 10_MiB : 0u) << "more is needed";
}

}  // namespace
}  // namespace headrace::engine::first_touch_test
