// What a stream makes of the runtime's codes, with functions of the test instead of CUDA's: no GPU is there.
#include <gtest/gtest.h>

#ifdef HEADRACE_HAS_CUDA

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "harness/backends/cuda/environment.h"
#include "harness/backends/cuda/status.h"
#include "harness/backends/cuda/stream.h"
#include "tests/unit/failure_of.h"

namespace {
struct {
  cudaError_t copy = cudaSuccess, query = cudaSuccess;
  unsigned calls = 0, destroyed = 0;
  int device = 0;             // the thread's
  std::vector<int> launched;  // kernels, on which GPU each
} runtime;
headrace::cuda::Gate gate;
int thing;
}  // namespace

extern "C" {
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "what it says"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorOfTheTest"; }
cudaError_t cudaSetDevice(int device) { return runtime.device = device, cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(&thing);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return ++runtime.destroyed, cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return ++runtime.calls, runtime.query; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* event) { return *event = nullptr, cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return ++runtime.calls, runtime.query; }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { return *ms = 0, cudaSuccess; }
cudaError_t cudaHostAlloc(void** memory, std::size_t, unsigned) { return *memory = &gate, cudaSuccess; }
cudaError_t cudaFreeHost(void*) { return cudaSuccess; }
cudaError_t cudaMalloc(void** memory, std::size_t) { return *memory = &thing, cudaSuccess; }
cudaError_t cudaFree(void*) { return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t) {
  return ++runtime.calls, runtime.copy;
}
}

namespace headrace::cuda {

namespace {
cudaError_t launched() { return runtime.launched.push_back(runtime.device), cudaSuccess; }
}  // namespace
cudaError_t launch_gate(Gate*, std::uint32_t, std::uint64_t, cudaStream_t) { return launched(); }
cudaError_t launch_busy(std::uint64_t, cudaStream_t) { return launched(); }
cudaError_t launch_copy(void*, const void*, std::uint64_t, cudaStream_t) { return launched(); }
cudaError_t launch_follow(const void* const*, std::uint64_t, const void**, cudaStream_t) { return launched(); }
cudaError_t launch_pattern(std::uint64_t*, std::uint64_t, const GpuPattern*, const GpuPattern&, GpuWrongWords*,
                           cudaStream_t) {
  return launched();
}
cudaError_t launch_bring(void*, const ExpectedSums&, bool, cudaStream_t) { return launched(); }
cudaError_t launch_check(const void*, const ExpectedSums&, GpuWrongElements*, cudaStream_t) { return launched(); }

// A GPU of which only its being given up matters here.
namespace {
bool any_lost = false;
}
Device::Device(int index, std::string name) : index_(index), name_(std::move(name)) {}
std::string Device::lost() const { return lost_ ? why_ : ""; }
GpuState Device::state() {
  static_cast<void>(nvml_);
  return {};
}
std::optional<std::uint64_t> Device::free_memory() { return std::nullopt; }
std::unique_ptr<GpuMemory> Device::allocate(std::uint64_t) { return nullptr; }
std::unique_ptr<GpuStream> Device::stream() { return std::make_unique<Stream>(*this); }
std::unique_ptr<GpuMemory> Device::pinned(std::uint64_t, bool) { return nullptr; }
std::unique_ptr<GpuMemory> Device::pin(std::span<unsigned char>) { return nullptr; }
int Device::dma_buf(const GpuMemory&) { return -1; }
std::unique_ptr<GpuMemory> Device::share(std::uint64_t, GpuFabricHandle&) { return nullptr; }
std::unique_ptr<GpuMemory> Device::map(const GpuFabricHandle&, std::uint64_t) { return nullptr; }
bool Device::reaches(Gpu&) { return false; }
std::unique_ptr<GpuMultiplier> Device::multiplier(GpuStream&, const GpuMatrices&) { return nullptr; }
std::unique_ptr<GpuImageDecoder> Device::image_decoder(GpuStream&, unsigned, unsigned, bool) { return nullptr; }
std::unique_ptr<GpuFileReader> Device::file_reader(const FileTable&, std::span<const std::uint32_t>, const GpuMemory&) {
  return nullptr;
}
void Device::use() {
  check();
  cudaSetDevice(index_);
}
void Device::give_up(const std::string& why, cudaError_t code) {
  why_ = why;
  hangs_ = code == cudaSuccess;
  lost_ = is_of_hardware(code);
  given_up_ = any_lost = true;
}
void Device::throw_given_up() const { throw RunError(name_ + " was given up: " + why_); }
bool Device::any_given_up() { return any_lost; }

namespace {

struct CudaStream : ::testing::Test {
  void SetUp() override {
    runtime = {};
    any_lost = false;
  }
};

/// After it every call to that GPU fails with the same words, and where one might never return, none is made any more.
TEST_F(CudaStream, AnErrorThatStaysGivesTheGpuUpAndNoOther) {
  for (const cudaError_t code : {cudaErrorIllegalAddress, cudaErrorUnknown, cudaErrorECCUncorrectable}) {
    SetUp();
    Device lost(1, "gpu1"), sound(0, "gpu0");
    {
      Stream stream(lost), other(sound);
      runtime.query = code;
      const std::string first = testing::failure_of([&] { stream.wait(); });
      EXPECT_NE(first.find("work on gpu1: what it says (cudaErrorOfTheTest)"), std::string::npos) << first;
      runtime.query = cudaSuccess;
      EXPECT_TRUE(lost.given_up());
      // A program may have made an illegal access: that is no fault of the GPU.
      EXPECT_EQ(lost.lost(), code == cudaErrorIllegalAddress ? "" : first);
      EXPECT_EQ(sound.lost(), "");
      const unsigned before = runtime.calls;
      EXPECT_EQ(testing::failure_of([&] { stream.copy(&thing, &thing, 4, CopyKind::h2d); }),
                "gpu1 was given up: " + first);
      EXPECT_EQ(runtime.calls, before) << "the driver is not asked any more";
      EXPECT_EQ(testing::failure_of([&] { other.copy(&thing, &thing, 4, CopyKind::h2d); }), "") << "the others go on";
      EXPECT_EQ(testing::failure_of([&] { other.wait(); }), "");
    }
    EXPECT_EQ(runtime.destroyed, 0u) << "giving back might never return";
  }
}

TEST_F(CudaStream, AnErrorOfOneCallIsThatCallsAlone) {
  Device gpu(0, "gpu0");
  {
    Stream stream(gpu);
    runtime.copy = cudaErrorInvalidValue;
    EXPECT_NE(testing::failure_of([&] { stream.copy(&thing, &thing, 4, CopyKind::h2d); }).find("copy on gpu0"),
              std::string::npos);
    runtime.copy = cudaSuccess;
    EXPECT_FALSE(gpu.given_up());
    EXPECT_EQ(testing::failure_of([&] { stream.copy(&thing, &thing, 4, CopyKind::h2d); }), "");
  }
  EXPECT_EQ(runtime.destroyed, 1u);
}

/// One thread queues on the streams of several GPUs, as copies from all to one do: kernels run on the thread's GPU, and
/// CUDA refuses them on another one's stream.
TEST_F(CudaStream, KernelsRunOnTheGpuOfTheirStream) {
  Device zero(0, "gpu0"), one(1, "gpu1");
  Stream lead(zero), other(one);
  const std::function<void()> on_lead[] = {[&] { lead.hold(); }, [&] { lead.keep_busy(1); },
                                           [&] { lead.copy_by_cores(&thing, &thing, 4); },
                                           [&] { lead.follow(nullptr, 1); }};
  for (const auto& call : on_lead) {
    other.copy_by_cores(&thing, &thing, 4);
    runtime.launched.clear();
    call();
    EXPECT_EQ(runtime.launched, std::vector<int>{0});
  }
}

TEST(CudaErrors, NameTheRemedyForReportedCodes) {
  const auto describe = [](cudaError_t code) { return std::string(cuda_error("use", "gpu0", code).what()); };
  EXPECT_NE(describe(cudaErrorDevicesUnavailable).find("exclusive-process mode"), std::string::npos);
  EXPECT_NE(describe(cudaErrorSystemNotReady).find("nvidia-fabricmanager"), std::string::npos);
  EXPECT_NE(describe(cudaErrorUnknown).find("79: it has fallen off the bus"), std::string::npos);
  EXPECT_EQ(describe(cudaErrorInvalidValue), "use gpu0: what it says (cudaErrorOfTheTest)");
}

TEST(CudaEnvironment, BlockingLaunchesAreRefused) {
  ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  EXPECT_NE(spoilt_by_environment().find("CUDA_LAUNCH_BLOCKING is '1'"), std::string::npos);
  ::setenv("CUDA_LAUNCH_BLOCKING", "0", 1);
  EXPECT_EQ(spoilt_by_environment(), "");
  ::unsetenv("CUDA_LAUNCH_BLOCKING");
  EXPECT_EQ(spoilt_by_environment(), "");
}

}  // namespace
}  // namespace headrace::cuda

#else
TEST(CudaStream, NeedsTheCudaBackend) { GTEST_SKIP() << "built without CUDA"; }
#endif
