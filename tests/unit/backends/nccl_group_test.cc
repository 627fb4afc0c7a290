// A group's calls in NCCL's own order, with a library that fails or hangs where the test says: no GPU and no libnccl is
// asked.
#include <gtest/gtest.h>

#ifdef HEADRACE_HAS_NCCL
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "harness/backends/nccl/group.h"
#include "harness/base/error.h"
#include "tests/unit/failure_of.h"

namespace {
/// What was called, and which call of which function fails or hangs.
struct Library {
  std::mutex mutex;
  std::condition_variable changed;
  int depth = 0;  // of groups, as NCCL counts it
  int inits = 0, reductions = 0, fails_at_init = -1, fails_at_reduction = -1;
  int aborted = 0, aborted_in_a_group = 0, destroyed = 0;
  int hangs_at_init = -1, hangs_at_reduction = -1;  // until `released`, or until somebody aborts
  bool hangs = false, released = false;
  bool gpu_never_ends = false, answers_in_progress = false;
  int blocking = -1;  // as the communicator was configured
  ncclResult_t fails_with = ncclInvalidUsage;
  std::vector<std::size_t> counts;
  std::vector<int> types;
  std::vector<int> depths;            // at each reduction
  std::set<std::thread::id> callers;  // of everything
  std::set<int> gpus;                 // that were the thread's own at any call
  int processors = 0;                 // that the caller may run on
  int capturing = 0, captured = 0;    // streams; reductions while one of them was recorded
  std::vector<int> launched;          // graphs, by the number that they were made with
  int graphs = 0, graphs_left = 0, fails_at_graph = -1;
  std::vector<int> uploaded;            // likewise; before the first launch
  std::vector<std::size_t> registered;  // bytes of each buffer
  int deregistered = 0, unmade_windows = 0;
  bool makes_windows = true;
  std::vector<int> windows;                                 // flags of each
  std::vector<void**> promised;                             // windows that are there when the group of calls has ended
  std::vector<std::pair<int, std::size_t>> sent, received;  // to and from which rank, and how many elements
} * library;                                                // a new one for each test: a thread that hung keeps its own

thread_local int gpu = 0;

void called() {
  const std::lock_guard lock(library->mutex);
  library->callers.insert(std::this_thread::get_id());
  library->gpus.insert(gpu);
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) library->processors = CPU_COUNT(&set);
}
/// True: it hung and was let go.
bool hang(int number, int at) {
  if (number != at) return false;
  std::unique_lock lock(library->mutex);
  library->hangs = true;
  library->changed.notify_all();
  library->changed.wait(lock, [] { return library->released || library->aborted > 0; });
  return true;
}
bool wait_until(const std::function<bool()>& done) {
  std::unique_lock lock(library->mutex);
  return library->changed.wait_for(lock, std::chrono::minutes(2), done);
}
}  // namespace

// What the group asks of the CUDA runtime; every GPU is there and done at once.
cudaError_t cudaSetDevice(int device) {
  gpu = device;
  called();
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  static int streams = 0;
  called();
  *stream = reinterpret_cast<cudaStream_t>(&streams);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return called(), cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) {
  called();
  return library->gpu_never_ends ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  // A group that was given up leaves its word on the GPU, which frees it when the process ends: no leak of the host's.
  static std::array<std::max_align_t, 1024> gpu_memory;
  static std::atomic<std::size_t> used = 0;
  called();
  *memory = &gpu_memory.at(used.fetch_add(1 + bytes / sizeof(std::max_align_t)));
  return cudaSuccess;
}
cudaError_t cudaMemset(void*, int, std::size_t) { return called(), cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return called(), cudaSuccess; }
cudaError_t cudaFree(void*) { return called(), cudaSuccess; }
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return called(), ++library->capturing, cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  called();
  --library->capturing;
  *graph = reinterpret_cast<cudaGraph_t>(library);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t, unsigned long long) {
  called();
  if (library->graphs == library->fails_at_graph) return cudaErrorMemoryAllocation;
  ++library->graphs_left;
  *ready = reinterpret_cast<cudaGraphExec_t>(std::uintptr_t(++library->graphs));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { return called(), cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return called(), --library->graphs_left, cudaSuccess; }
cudaError_t cudaGraphUpload(cudaGraphExec_t ready, cudaStream_t) {
  called();
  if (library->launched.empty()) library->uploaded.push_back(static_cast<int>(reinterpret_cast<std::uintptr_t>(ready)));
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t) {
  called();
  library->launched.push_back(static_cast<int>(reinterpret_cast<std::uintptr_t>(ready)));
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) { return "no error"; }

namespace headrace::nccl::nccl_group_test {
namespace {

Api functions() {
  Api api;
  api.group_start = [] { return called(), ++library->depth, ncclSuccess; };
  api.group_end = [] {
    called();
    for (void** window : std::exchange(library->promised, {})) *window = library;
    return --library->depth, ncclSuccess;
  };
  api.init = [](ncclComm_t* comm, int, ncclUniqueId, int, ncclConfig_t* config) {
    called();
    library->blocking = config->blocking;
    if (library->inits++ == library->fails_at_init) return ncclSystemError;
    hang(library->inits - 1, library->hangs_at_init);
    *comm = reinterpret_cast<ncclComm_t>(library);
    return library->answers_in_progress ? ncclInProgress : ncclSuccess;
  };
  api.all_reduce = [](const void*, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t, ncclComm_t,
                      cudaStream_t) {
    called();
    library->counts.push_back(count);
    library->types.push_back(type);
    library->depths.push_back(library->depth);
    library->captured += library->capturing > 0;
    const int number = library->reductions++;
    if (hang(number, library->hangs_at_reduction)) return ncclRemoteError;
    return number == library->fails_at_reduction ? library->fails_with : ncclSuccess;
  };
  api.abort = [](ncclComm_t) {
    called();
    const std::lock_guard lock(library->mutex);
    ++library->aborted;
    library->aborted_in_a_group += library->depth != 0;
    library->changed.notify_all();
    return ncclSuccess;
  };
  api.register_buffer = [](ncclComm_t, void*, std::size_t bytes, void** handle) {
    called();
    library->registered.push_back(bytes);
    *handle = library;
    return ncclSuccess;
  };
  api.deregister_buffer = [](ncclComm_t, void*) { return called(), ++library->deregistered, ncclSuccess; };
  api.register_window = [](ncclComm_t, void*, std::size_t, void** window, int flags) {
    called();
    library->windows.push_back(library->depth == 1 ? flags : -1);
    if (library->makes_windows) library->promised.push_back(window);
    return ncclSuccess;
  };
  api.deregister_window = [](ncclComm_t, void*) { return called(), ++library->unmade_windows, ncclSuccess; };
  api.send = [](const void*, std::size_t n, ncclDataType_t, int rank, ncclComm_t, cudaStream_t) {
    return called(), library->sent.emplace_back(rank, n), ncclSuccess;
  };
  api.receive = [](void*, std::size_t n, ncclDataType_t, int rank, ncclComm_t, cudaStream_t) {
    return called(), library->received.emplace_back(rank, n), ncclSuccess;
  };
  api.destroy = [](ncclComm_t) { return called(), ++library->destroyed, ncclSuccess; };
  api.async_error = [](ncclComm_t, ncclResult_t* state) { return called(), *state = ncclSuccess, ncclSuccess; };
  api.error_text = [](ncclResult_t) { return "refused"; };
  api.last_error = [](ncclComm_t) { return "by the test"; };
  return api;
}

constexpr std::array kTwo{NcclMember{0, 4}, NcclMember{1, 5}};
constexpr std::array kOne{NcclMember{1, 3}};

struct NcclGroups : ::testing::Test {
  void SetUp() override {
    static std::vector<std::unique_ptr<Library>> all;
    library = all.emplace_back(std::make_unique<Library>()).get();
  }
  std::unique_ptr<NcclGroup> join(Complaints complaints = [] { return std::string(); }) {
    return make_group(api, {}, 2, kTwo, 120, std::move(complaints));
  }
  /// Of a process that has one GPU.
  std::unique_ptr<NcclGroup> join_alone(double timeout_s = 120) {
    return make_group(api, {}, 2, kOne, timeout_s, [] { return std::string(); });
  }
  const Api api = functions();
  std::array<float, 8> memory{};
  const std::array<NcclBuffers, 2> buffers{NcclBuffers{memory.data(), memory.data()},
                                           NcclBuffers{memory.data(), memory.data()}};
  const std::span<const NcclBuffers> one{buffers.data(), 1};
  std::array<unsigned char, 32> bytes{};
  const std::array<NcclMemory, 2> apart{NcclMemory{bytes, bytes}, NcclMemory{bytes, bytes}};
};

TEST_F(NcclGroups, OperationsInARow) {
  {
    const auto group = join();
    group->start({.count = 8, .times = 5, .batch = 2}, buffers);
    const NcclTimes times = group->wait();
    EXPECT_EQ(group->done(), 5u);
    ASSERT_EQ(times.batch_end_ns.size(), 3u);
    EXPECT_GE(times.batch_end_ns.front(), times.begin_ns);
    EXPECT_TRUE(std::is_sorted(times.batch_end_ns.begin(), times.batch_end_ns.end()));
  }
  EXPECT_EQ(library->counts, std::vector<std::size_t>(10, 8));
  EXPECT_EQ(library->depth, 0);
  EXPECT_EQ(library->aborted, 0);
  EXPECT_EQ(library->destroyed, 2);
  EXPECT_EQ(library->gpus, (std::set{4, 5})) << "a call with another GPU would start a context there";
}

TEST_F(NcclGroups, ABatchIsRecordedOnceAndLaunchedAsAGraph) {
  {
    const auto group = join();
    group->start({.count = 8, .times = 7, .batch = 3, .graph = true, .meet = true}, buffers);
    EXPECT_EQ(group->wait().batch_end_ns.size(), 3u);
    EXPECT_EQ(group->done(), 7u);
    // Of two GPUs a graph each: of three operations, and of the one that is left. All ranks meet after that.
    EXPECT_EQ(library->captured, 2 * 3 + 2 * 1);
    EXPECT_EQ(library->counts, (std::vector<std::size_t>{8, 8, 8, 8, 8, 8, 8, 8, 1, 1}));
    EXPECT_EQ(library->launched, (std::vector<int>{1, 2, 1, 2, 3, 4}));
    EXPECT_EQ(library->uploaded, (std::vector<int>{1, 2, 3, 4})) << "the first launch of each is as fast as the others";
    EXPECT_EQ(library->graphs_left, 0);
    EXPECT_EQ(library->capturing, 0);
    group->start({.count = 8, .times = 2, .batch = 5, .graph = true}, buffers);
    EXPECT_EQ(group->wait().batch_end_ns.size(), 1u);
  }
  EXPECT_EQ(library->graphs_left, 0);
  EXPECT_EQ(library->aborted, 0);
  const auto group = join();
  library->fails_at_graph = library->graphs + 1;
  group->start({.count = 8, .times = 3, .batch = 3, .graph = true}, buffers);
  EXPECT_NE(testing::failure_of([&] { group->wait(); }).find("rank 1 (gpu5): make a graph"), std::string::npos);
}

TEST_F(NcclGroups, BuffersAreRegisteredAndGivenBack) {
  {
    const auto group = join();
    EXPECT_TRUE(group->register_buffers(apart, NcclRegistration::buffers));
    EXPECT_EQ(library->registered, std::vector<std::size_t>(4, 32)) << "what is sent, and what comes";
    EXPECT_EQ(library->deregistered, 0);
  }
  EXPECT_EQ(library->deregistered, 4);
  EXPECT_EQ(library->destroyed, 2);
}

TEST_F(NcclGroups, WindowsAreMadeByAllMembersAtOnceAndAreThereWhenTheGroupEnds) {
  {
    const auto group = join();
    EXPECT_TRUE(group->register_buffers(apart, NcclRegistration::windows));
    EXPECT_EQ(library->windows, (std::vector<int>{1, 1, 1, 1})) << "symmetric, within a group of calls";
    EXPECT_TRUE(library->registered.empty());
  }
  EXPECT_EQ(library->unmade_windows, 4);
  EXPECT_EQ(library->deregistered, 0);
  library->makes_windows = false;
  const auto group = join();
  EXPECT_FALSE(group->register_buffers(apart, NcclRegistration::windows)) << "it has none for these GPUs";
}

TEST_F(NcclGroups, UnevenPartsReachTheirRanks) {
  const auto group = join();
  group->start({.what = Collective::all_to_all_v, .count = 8, .parts = {0, 8, 8}}, buffers);
  group->wait();
  // Rank 0 gets all from both ranks, rank 1 gets nothing and is sent nothing.
  EXPECT_EQ(library->sent, (std::vector<std::pair<int, std::size_t>>{{0, 8}, {0, 8}}));
  EXPECT_EQ(library->received, (std::vector<std::pair<int, std::size_t>>{{0, 8}, {1, 8}}));
}

TEST_F(NcclGroups, AreCalledAsNcclTestsCallsThem) {
  const auto group = join_alone();
  EXPECT_EQ(library->blocking, 1);
  group->start({.count = 8, .times = 3, .batch = 3}, one);
  group->wait();
  EXPECT_EQ(library->depths, std::vector<int>(3, 0)) << "one GPU: no group around each operation";
  EXPECT_EQ(library->callers.size(), 1u) << "no thread for each operation";
  EXPECT_EQ(library->callers.count(std::this_thread::get_id()), 0u);
  EXPECT_EQ(library->gpus, std::set{3});
  EXPECT_NE(group->mode().find("blocking, as in nccl-tests"), std::string::npos);
}

TEST_F(NcclGroups, AGpuThatCannotAddBytesIsNoFailure) {
  const auto group = join_alone();
  library->fails_at_reduction = 0;
  library->fails_with = ncclInvalidArgument;
  group->start({.element = NcclElement::f8e4m3, .count = 8}, one);
  EXPECT_THROW(group->wait(), Unsupported);
  EXPECT_EQ(library->types, std::vector<int>{10});  // ncclFloat8e4m3
}

TEST_F(NcclGroups, RanksMeetBeforeTheClockStarts) {
  const auto group = join_alone();
  group->start({.count = 8, .times = 2, .batch = 2, .meet = true}, one);
  EXPECT_EQ(group->wait().batch_end_ns.size(), 1u);
  EXPECT_EQ(library->counts, (std::vector<std::size_t>{1, 8, 8}));
}

TEST_F(NcclGroups, RunOnEveryProcessorFromAnyThread) {
  cpu_set_t all, first;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one processor";
  std::thread worker([&] {
    CPU_ZERO(&first);
    for (int cpu = 0; CPU_COUNT(&first) == 0; ++cpu)
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &first);
    ASSERT_EQ(::sched_setaffinity(0, sizeof first, &first), 0);  // as workers of storage are
    join_alone();
  });
  worker.join();
  EXPECT_EQ(library->processors, CPU_COUNT(&all));
}

TEST_F(NcclGroups, ALibraryThatIsAskedNotToBlockIsWaitedFor) {
  library->answers_in_progress = true;
  const auto group = join_alone();
  group->start({.count = 8, .times = 1, .batch = 1}, one);
  group->wait();
  EXPECT_EQ(group->mode().rfind("not blocking (NCCL_COMM_BLOCKING=0)", 0), 0u) << group->mode();
}

TEST_F(NcclGroups, AFailedOperationLeavesNoGroupOpenSoThatAbortWorks) {
  const auto group = join();
  library->fails_at_reduction = 1;
  group->start({.count = 8}, buffers);
  EXPECT_EQ(testing::failure_of([&] { group->wait(); }), "NCCL: all_reduce: refused: by the test");
  EXPECT_EQ(library->depth, 0);
  group->abort();
  EXPECT_EQ(library->aborted, 2);
  EXPECT_EQ(library->aborted_in_a_group, 0);
  EXPECT_THROW(group->start({.count = 8}, buffers), RunError);
  EXPECT_THROW(group->wait(), RunError);
}

TEST_F(NcclGroups, AMemberThatCannotJoinLeavesNoGroupOpenAndTakesTheOthersAlong) {
  library->fails_at_init = 1;
  EXPECT_THROW(join(), RunError);
  EXPECT_EQ(library->depth, 0);
  EXPECT_EQ(library->aborted, 1);  // the one that had joined
  EXPECT_EQ(library->aborted_in_a_group, 0);
}

TEST_F(NcclGroups, AFailureRepeatsTheLibrarysWarning) {
  library->fails_at_init = 0;
  EXPECT_EQ(testing::failure_of([&] { join([] { return std::string("no socket interface found"); }); }),
            "NCCL: join: refused: by the test; NCCL warned: no socket interface found");
}

TEST_F(NcclGroups, AMissingRankIsNotAwaitedAndItsRestIsEnded) {
  library->hangs_at_init = 0;
  EXPECT_EQ(testing::failure_of([&] { join_alone(0.2); }), "NCCL: rank 1 (gpu3): join: did not end within 0.2 s");
  EXPECT_EQ(library->aborted, 0) << "there is nothing yet that could be";
  {
    const std::lock_guard lock(library->mutex);
    library->released = true;
    library->changed.notify_all();
  }
  EXPECT_TRUE(wait_until([] { return library->aborted == 1; })) << "by the thread that was left behind";
}

TEST_F(NcclGroups, ACallThatHangsIsEndedFromOutside) {
  const auto group = join_alone();
  library->hangs_at_reduction = 2;
  group->start({.count = 8, .times = 5, .batch = 1, .patience_s = 0.2}, one);
  EXPECT_EQ(testing::failure_of([&] { group->wait(); }), "NCCL: rank 1 (gpu3): operation: did not end within 0.2 s");
  EXPECT_EQ(group->done(), 2u);
  group->abort();
  EXPECT_EQ(library->aborted, 1);
  EXPECT_EQ(library->callers.size(), 2u) << "the thread that hung could not";
}

TEST_F(NcclGroups, AGpuThatNeverEndsIsGivenUp) {
  const auto group = join_alone();
  library->gpu_never_ends = true;
  group->start({.count = 8, .patience_s = 0.2}, one);
  EXPECT_EQ(testing::failure_of([&] { group->wait(); }), "NCCL: rank 1 (gpu3): operation: did not end within 0.2 s");
  group->abort();
  EXPECT_EQ(library->aborted, 1);
  EXPECT_EQ(library->callers.size(), 1u) << "its own thread came back for that";
}

}  // namespace
}  // namespace headrace::nccl::nccl_group_test

#else
TEST(NcclGroups, NeedTheHeadersOfNccl) { GTEST_SKIP() << "built without NCCL"; }
#endif
