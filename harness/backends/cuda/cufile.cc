#include "harness/backends/cuda/cufile.h"

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "harness/backends/open_files.h"

namespace headrace::cuda {
namespace {

constexpr unsigned kPeerToPeer = 1u << 11;  // CU_FILE_NVME_P2P_SUPPORTED: without the kernel module

class Reader final : public GpuFileReader {
 public:
  Reader(CuFile& cufile, const FileTable& files, std::span<const std::uint32_t> selected, const GpuMemory& memory)
      : cufile_(cufile), memory_(memory), files_(files, selected, direct()) {
    for (const int fd : files_.all()) {
      CuFile::Description description;
      description.handle.fd = fd;
      void* handle = nullptr;
      if (const auto status = cufile_.register_file(&handle, &description); status.code != 0) {
        const auto at = handles_.size();
        forget();
        throw RunError("register " + files.root() + "/" + files.path(selected[at]) +
                       " for GPUDirect Storage: " + cufile_.words(status.code));
      }
      handles_.push_back(handle);
    }
    // Not registered is slower, not wrong: cuFile then goes through buffers of its own.
    registered_ = cufile_.register_memory(memory_.begin(), memory_.size(), 0).code == 0;
  }
  ~Reader() override {
    if (registered_) cufile_.forget_memory(memory_.begin());
    forget();
  }

  std::int64_t read(std::uint32_t file, std::uint64_t offset, std::uint64_t length,
                    std::uint64_t to) noexcept override {
    const ssize_t got =
        cufile_.read(handles_[file], memory_.begin(), length, static_cast<off_t>(offset), static_cast<off_t>(to));
    if (got >= 0) return got;
    // -1: see errno; below: one of cuFile's own codes, which are no errno.
    return got == -1 ? -errno : -EIO;
  }
  std::string mode() const override {
    return cufile_.mode() + (registered_ ? "" : "; GPU memory not registered: through cuFile's own buffers");
  }

 private:
  static ReaderOptions direct() {
    ReaderOptions options;
    options.direct = true;
    return options;
  }
  void forget() noexcept {
    for (void* handle : handles_) cufile_.forget_file(handle);
    handles_.clear();
  }

  CuFile& cufile_;
  const GpuMemory& memory_;
  OpenFiles files_;
  std::vector<void*> handles_;
  bool registered_ = false;
};

}  // namespace

CuFile& CuFile::instance() {
  static CuFile cufile;
  return cufile;
}

CuFile::CuFile() {
  const bool complete =
      library_.find("cuFileDriverOpen", open_) && library_.find("cuFileDriverGetProperties", properties_) &&
      library_.find("cuFileHandleRegister", register_file) && library_.find("cuFileHandleDeregister", forget_file) &&
      library_.find("cuFileBufRegister", register_memory) && library_.find("cuFileBufDeregister", forget_memory) &&
      library_.find("cuFileRead", read);
  if (!library_)
    why_ = "libcufile.so.0 not found: no GPUDirect Storage";
  else if (!complete)
    why_ = "libcufile.so.0 lacks functions that headrace needs";
}

std::optional<std::string> CuFile::unusable() {
  if (why_ || asked_) return why_;
  asked_ = true;
  if (const Status status = open_(); status.code != 0) why_ = "cuFile does not start: " + words(status.code);
  return why_;
}

std::string CuFile::words(int code) {
  const auto text = [code] {
    switch (std::abs(code)) {
      case 5001:
        return "the kernel module nvidia-fs is not loaded, and compatibility mode is off in "
               "cufile.json";
      case 5004:
        return "the kernel module nvidia-fs has another version";
      case 5007:
        return "not supported on this machine";
      case 5008:
        return "not supported on this file system";
      case 5009:
        return "not supported on this GPU";
      case 5011:
        return "the CUDA driver failed";
      case 5018:
        return "not supported on this kind of file";
      case 5020:
        return "the file is not open for direct I/O";
      case 5025:
        return "permission denied";
      case 5034:
        return "switched off in cufile.json";
      case 5036:
        return "GPU memory cannot be pinned";
      default:
        return "failed";
    }
  };
  return std::string(text()) + " (cuFile " + std::to_string(std::abs(code)) + ")";
}

std::string CuFile::mode() const {
  Properties p{};
  if (properties_(&p).code != 0) return "mode not told";
  if (p.major > 0) return "direct (nvidia-fs " + std::to_string(p.major) + "." + std::to_string(p.minor) + ")";
  if (p.status_flags & kPeerToPeer) return "direct (PCI peer to peer)";
  return "compatibility mode: through host memory, since the kernel has no nvidia-fs module";
}

std::unique_ptr<GpuFileReader> CuFile::reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                              const GpuMemory& memory) {
  if (const auto why = unusable()) throw RunError(*why);
  return std::make_unique<Reader>(*this, files, selected, memory);
}

}  // namespace headrace::cuda
