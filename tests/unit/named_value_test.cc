#include "harness/named_value.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(NamedValue, MemoryIsToldInGiBAndAllElseInDecimalUnits) {
  EXPECT_EQ(format_named(22.05 * 1024 * 1024 * 1024, "B", "host.prefetch_memory"), "22.1 GiB");
  EXPECT_EQ(format_named(83e9, "B", "free_space"), "83.0 GB");
  EXPECT_EQ(format_named(1.6e9, "B/s", "host.memory_bandwidth"), "1.60 GB/s");
  EXPECT_EQ(format_named(659e3, "ns", "latency_p50_ns"), "659 \u00b5s");
}

}  // namespace
}  // namespace headrace
