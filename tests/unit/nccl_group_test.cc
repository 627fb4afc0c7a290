// A group's calls in NCCL's own order, with a library that fails where the test says: no GPU and no libnccl is asked.
#include <gtest/gtest.h>

#ifdef HEADRACE_HAS_NCCL
#include <array>
#include <string>

#include "harness/backends/nccl/group.h"
#include "harness/base/error.h"

// What the group asks of the CUDA runtime; every GPU is there and done at once.
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  static int streams = 0;
  *stream = reinterpret_cast<cudaStream_t>(&streams);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "no error"; }

namespace headrace::nccl {
namespace {

/// What was called, and which call of which function fails.
struct Library {
  int depth = 0;  // of groups, as NCCL counts it
  int inits = 0, reductions = 0, fails_at_init = -1, fails_at_reduction = -1;
  int aborted = 0, aborted_in_a_group = 0;
} library;

Api functions() {
  Api api;
  api.group_start = [] { return ++library.depth, ncclSuccess; };
  api.group_end = [] { return --library.depth, ncclSuccess; };
  api.init = [](ncclComm_t* comm, int, ncclUniqueId, int, ncclConfig_t*) {
    if (library.inits++ == library.fails_at_init) return ncclSystemError;
    *comm = reinterpret_cast<ncclComm_t>(&library);
    return ncclSuccess;
  };
  api.all_reduce = [](const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t) {
    return library.reductions++ == library.fails_at_reduction ? ncclInvalidUsage : ncclSuccess;
  };
  api.abort = [](ncclComm_t) {
    ++library.aborted;
    library.aborted_in_a_group += library.depth != 0;
    return ncclSuccess;
  };
  api.finalize = api.destroy = [](ncclComm_t) { return ncclSuccess; };
  api.async_error = [](ncclComm_t, ncclResult_t* state) { return *state = ncclSuccess, ncclSuccess; };
  api.error_text = [](ncclResult_t) { return "refused"; };
  api.last_error = [](ncclComm_t) { return "by the test"; };
  return api;
}

constexpr std::array kMembers{NcclMember{0, 0}, NcclMember{1, 1}};

struct NcclGroups : ::testing::Test {
  void SetUp() override { library = {}; }
  std::unique_ptr<NcclGroup> join(Complaints complaints = [] { return std::string(); }) {
    return make_group(api, {}, 2, kMembers, 5, std::move(complaints));
  }
  const Api api = functions();
  std::array<float, 8> memory{};
  const std::array<NcclBuffers, 2> buffers{NcclBuffers{memory.data(), memory.data()},
                                           NcclBuffers{memory.data(), memory.data()}};
};

TEST_F(NcclGroups, QueueAndWait) {
  {
    const auto group = join();
    for (int i = 0; i < 3; ++i) group->queue(Collective::all_reduce, buffers, 8);
    group->wait(5);
  }
  EXPECT_EQ(library.reductions, 6);
  EXPECT_EQ(library.depth, 0);
  EXPECT_EQ(library.aborted, 0);
}

TEST_F(NcclGroups, AFailedOperationLeavesNoGroupOpenSoThatAbortWorks) {
  const auto group = join();
  library.fails_at_reduction = 1;
  try {
    group->queue(Collective::all_reduce, buffers, 8);
    FAIL() << "the second member's call fails";
  } catch (const RunError& e) {
    EXPECT_STREQ(e.what(), "NCCL: all_reduce: refused: by the test");
  }
  EXPECT_EQ(library.depth, 0);
  group->abort();
  EXPECT_EQ(library.aborted, 2);
  EXPECT_EQ(library.aborted_in_a_group, 0);
  EXPECT_THROW(group->wait(1), RunError);
}

TEST_F(NcclGroups, AMemberThatCannotJoinLeavesNoGroupOpenAndTakesTheOthersAlong) {
  library.fails_at_init = 1;
  EXPECT_THROW(join(), RunError);
  EXPECT_EQ(library.depth, 0);
  EXPECT_EQ(library.aborted, 1);  // the one that had joined
  EXPECT_EQ(library.aborted_in_a_group, 0);
}

TEST_F(NcclGroups, AFailureSaysWhatTheLibraryWarnedOf) {
  library.fails_at_init = 0;
  try {
    join([] { return std::string("no socket interface found"); });
    FAIL() << "the first member's call fails";
  } catch (const RunError& e) {
    EXPECT_STREQ(e.what(), "NCCL: join: refused: by the test; NCCL warned: no socket interface found");
  }
}

}  // namespace
}  // namespace headrace::nccl

#else
TEST(NcclGroups, NeedTheHeadersOfNccl) { GTEST_SKIP() << "built without NCCL"; }
#endif
