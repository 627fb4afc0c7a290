// The plugin's door, and why NCCL may not be there.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstring>

#include "harness/backends/library.h"
#include "harness/backends/nccl/api.h"
#include "harness/backends/nccl/debug_log.h"
#include "harness/backends/nccl/group.h"
#include "harness/backends/plugin.h"
#include "harness/base/error.h"

namespace headrace::nccl {
namespace {

std::string version_text(int code) { return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100); }

class Memory final : public GpuMemory {
 public:
  Memory(const Api& api, unsigned gpu, std::uint64_t bytes) : api_(api), gpu_(static_cast<int>(gpu)) {
    void* memory = nullptr;
    ncclResult_t code = ncclUnhandledCudaError;
    if (cudaSetDevice(gpu_) == cudaSuccess) code = api_.memory(&memory, bytes);
    if (code != ncclSuccess) {
      cudaGetLastError();
      throw RunError(fmt::format("ncclMemAlloc of {} MiB on gpu{}: {}", bytes >> 20, gpu, api_.error_text(code)));
    }
    begin_ = static_cast<unsigned char*>(memory);
    size_ = bytes;
  }
  ~Memory() override {
    if (cudaSetDevice(gpu_) == cudaSuccess) api_.free_memory(begin_);
  }

 private:
  const Api& api_;
  const int gpu_;
};

class Backend final : public NcclBackend {
 public:
  Backend() {
    if (const Library driver{"libcuda.so.1"}; !driver)
      why_ = "libcuda.so.1 not found: no NVIDIA driver";
    else if (load(api_, why_))
      log_.emplace(api_.reset_debug);
  }
  std::optional<std::string> unusable() const override { return why_.empty() ? std::nullopt : std::optional(why_); }
  std::string version() const override {
    int code = 0;
    if (why_.empty()) api_.version(&code);
    return version_text(code);
  }
  std::string why_not(NcclElement element) const override {
    constexpr int kFloat8 = 22400;
    int code = 0;
    if ((element != NcclElement::f8e4m3 && element != NcclElement::f8e5m2) || !why_.empty()) return "";
    api_.version(&code);
    return code >= kFloat8 ? "" : "NCCL " + version_text(code) + " has no numbers of 8 bits: 2.24 has";
  }
  std::string why_not(NcclRegistration how) const override {
    if (!why_.empty() || how == NcclRegistration::none) return "";
    if (how == NcclRegistration::windows)
      return api_.register_window != nullptr ? "" : "NCCL " + version() + " has no symmetric windows: 2.27 has";
    return api_.register_buffer != nullptr ? "" : "NCCL " + version() + " registers no buffers: 2.19 does";
  }
  std::string why_no_memory() const override {
    return !why_.empty() || api_.memory != nullptr ? "" : "NCCL " + version() + " has no ncclMemAlloc: 2.19 has";
  }
  std::unique_ptr<GpuMemory> allocate(unsigned gpu, std::uint64_t bytes) override {
    return std::make_unique<Memory>(api_, gpu, bytes);
  }
  std::string make_id() override {
    ncclUniqueId id;
    if (const ncclResult_t code = api_.unique_id(&id); code != ncclSuccess)
      throw RunError(fmt::format("NCCL: {} ({}): is there a network interface that it may use (NCCL_SOCKET_IFNAME)?",
                                 api_.error_text(code), api_.last_error(nullptr)));
    return {reinterpret_cast<const char*>(&id), sizeof id};
  }
  void listen() override { log_->on(); }
  std::string heard() override { return log_->off(); }
  std::string why_deaf() const override { return log_->why_deaf(); }
  std::vector<std::string> settings() const override { return log_->settings(); }
  std::unique_ptr<NcclGroup> join(const std::string& id, unsigned size, std::span<const NcclMember> members,
                                  double timeout_s) override {
    ncclUniqueId unique;
    if (id.size() != sizeof unique) throw RunError("NCCL: a group's name of another version");
    std::memcpy(&unique, id.data(), sizeof unique);
    return make_group(api_, unique, size, members, timeout_s, [this] { return log_->complaints(); });
  }

 private:
  Api api_;
  std::string why_;
  std::optional<DebugLog> log_;  // where it is usable
};

class NcclPlugin final : public Plugin {
 public:
  std::string version() const override { return "nccl.h " + version_text(NCCL_VERSION_CODE); }
  std::unique_ptr<NcclBackend> nccl_backend() override { return std::make_unique<Backend>(); }
};

}  // namespace
}  // namespace headrace::nccl

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::nccl::NcclPlugin plugin;
  return &plugin;
}
