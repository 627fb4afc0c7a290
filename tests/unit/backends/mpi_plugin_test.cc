// The MPI plugin in one process alone, which MPI allows: which of a job's buffers its calls read and write.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "harness/backends/collective.h"
#include "harness/backends/loader.h"

/// Open MPI keeps what it allocates until the process ends.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace headrace::mpi_plugin_test {
namespace {

struct MpiPlugin : ::testing::Test {
  static void SetUpTestSuite() {
    ::setenv("OMPI_MCA_plm", "isolated", 1);  // no ssh need be here
    ::setenv("OMPI_MCA_btl", "self", 1);
    if (backends().why_not("mpi").empty()) std::thread([] { backends().mpi().start(); }).join();
  }
  static void TearDownTestSuite() {
    if (backends().why_not("mpi").empty()) backends().mpi().stop();
  }
  void SetUp() override {
    if (const std::string why = backends().why_not("mpi"); !why.empty()) GTEST_SKIP() << why;
  }
  static Backends& backends() {
    static Backends all;
    return all;
  }
};

/// The root of a broadcast sends out of its own buffer, as a job does: a copy beside it would be timed, too.
TEST_F(MpiPlugin, TheRootOfABroadcastIsNotCopied) {
  const auto group = backends().mpi().group({0});
  const std::vector<float> in{1, 2, 3};
  std::vector<float> out{7, 7, 7};
  group->run(Collective::broadcast, in.data(), out.data(), out.size());
  EXPECT_EQ(out, (std::vector<float>{7, 7, 7}));
  group->run(Collective::all_reduce, in.data(), out.data(), out.size());
  EXPECT_EQ(out, in);
}

/// MPI was started by another thread than calls it, one after the other, as prepare() and workers do.
TEST_F(MpiPlugin, IsCalledByOneThreadAfterAnother) {
  const auto group = backends().mpi().group({0});
  for (int i = 0; i < 3; ++i) {
    std::vector<float> in(4, static_cast<float>(i)), out(4, -1);
    std::thread([&] { group->run(Collective::all_gather, in.data(), out.data(), out.size()); }).join();
    EXPECT_EQ(out, in);
  }
  EXPECT_EQ(backends().mpi().all_gather("word"), std::vector<std::string>{"word"});
}

}  // namespace
}  // namespace headrace::mpi_plugin_test
