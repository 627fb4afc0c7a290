// What GPUs do and for whom, asked of NVML from outside: layouts and numbers as the library has them, and what is made of them.
#include "harness/backends/gpu_activity.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/observe/sampling/gpus.h"
#include "tests/machines/mocked_nvml.h"

namespace headrace::testing {
namespace {

struct GpuActivityReader : ::testing::Test {
  std::vector<NvmlMockUser> users{{.pid = 4711, .memory = 40'000'000'000, .busy = 30}, {.pid = 12, .memory = ~0ull}};
  std::vector<NvmlMockGpu> gpus{NvmlMockGpu{}, NvmlMockGpu{}};
  GpuActivityReader() {
    gpus[0].pci_address = "0000:1b:00.0";
    gpus[0].busy = 34;
    gpus[0].memory_busy = 12;
    gpus[0].user = users.data();
    gpus[0].users = 2;
    gpus[1].pci_address = "0000:1c:00.0";  // a slice: no share of time is reported
    mocked_nvml(gpus);
  }
};

TEST_F(GpuActivityReader, ReportsLoadAndUsersOfGpus) {
  const std::unique_ptr<GpuActivity> driver = gpu_activity();
  ASSERT_TRUE(driver);
  const std::vector<GpuLook> looks = driver->look();
  ASSERT_EQ(looks.size(), 2u);
  EXPECT_EQ(looks[0].pci_address, "0000:1b:00.0");
  EXPECT_EQ(looks[0].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(looks[0].busy, 0.34);
  EXPECT_EQ(looks[0].memory_busy, 0.12);
  ASSERT_EQ(looks[0].users.size(), 2u);
  EXPECT_EQ(looks[0].users[0].pid, 4711);
  EXPECT_EQ(looks[0].users[0].memory, 40'000'000'000u);
  EXPECT_EQ(looks[0].users[0].busy, 0.3);
  EXPECT_EQ(looks[0].users[1].memory, 0u);  // not reported
  EXPECT_FALSE(looks[0].users[1].busy);
  EXPECT_FALSE(looks[1].busy);
  EXPECT_TRUE(looks[1].users.empty());
}

TEST_F(GpuActivityReader, FindsRoomForManyUsers) {
  users.clear();
  for (unsigned i = 0; i < 1000; ++i) users.push_back({.pid = i + 1, .busy = 1});
  gpus[0].user = users.data();
  gpus[0].users = 1000;
  mocked_nvml(gpus);
  const std::vector<GpuLook> looks = gpu_activity()->look();
  ASSERT_EQ(looks[0].users.size(), 1000u);
  EXPECT_EQ(looks[0].users[999].busy, 0.01);
}

TEST_F(GpuActivityReader, ReportsNothingWithoutGpus) {
  gpus.clear();
  mocked_nvml(gpus);
  EXPECT_EQ(gpu_activity(), nullptr);
}

TEST_F(GpuActivityReader, IsAskedAgainAndAgainAndAddedUp) {
  observe::GpuLooks looks(gpu_activity, 0.01);
  std::vector<observe::GpuSeen> seen;
  std::vector<observe::GpuSlice> slices;
  const std::uint64_t guard = now_ns() + 120'000'000'000u;
  do {
    sleep_until(now_ns() + 50'000'000);
    slices = looks.take(seen);
  } while (slices.empty() && now_ns() < guard);
  ASSERT_EQ(slices.size(), 1u);  // of the other no share is reported
  EXPECT_NEAR(slices[0].busy, 0.34 * slices[0].looks, 1e-9);
  ASSERT_EQ(seen.size(), 2u);
  ASSERT_EQ(seen[0].users.size(), 2u);
  EXPECT_NEAR(seen[0].users[0].busy, 0.3 * seen[0].users[0].busy_looks, 1e-9);
}

/// A driver that answers when it is asked to.
struct Stuck : GpuActivity {
  std::shared_ptr<std::atomic<bool>> free;
  std::vector<GpuLook> look() override {
    while (!*free) ::usleep(1000);
    return {};
  }
};

TEST(GpuLooks, LetsGoOfADriverThatDoesNotAnswer) {
  const auto free = std::make_shared<std::atomic<bool>>(false);
  {
    observe::GpuLooks looks(
        [free] {
          auto driver = std::make_unique<Stuck>();
          driver->free = free;
          return driver;
        },
        0.01);
    std::vector<observe::GpuSeen> seen;
    EXPECT_TRUE(looks.take(seen).empty());
  }  // waits no longer than its patience
  *free = true;
}

}  // namespace
}  // namespace headrace::testing
