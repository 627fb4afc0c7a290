#include "harness/backends/cuda/cufile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "harness/backends/buffers.h"
#include "harness/backends/cuda/cufile_many.h"
#include "harness/backends/open_files.h"

namespace headrace::cuda {
namespace {

constexpr unsigned kPeerToPeer = 1u << 11;     // CU_FILE_NVME_P2P_SUPPORTED: without the kernel module
constexpr std::size_t kMostTried = 64;         // files that are looked at
constexpr std::uint64_t kTried = 1u << 20;     // read of each [B]
constexpr std::size_t kStatistics = 1u << 16;  // more than CUfileStatsLevel3_t of any version

class Reader final : public GpuFileReader {
 public:
  Reader(CuFile& cufile, const FileTable& files, std::span<const std::uint32_t> selected, const GpuMemory& memory,
         const std::string& uuid)
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
    look_at_ways(files, selected, uuid);
  }
  ~Reader() override {
    queued_.reset();  // before its reads' data
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
  std::unique_ptr<GpuReadBatch> batch(unsigned most) override {
    return make_read_batch(cufile_, handles_, memory_, most);
  }
  void queue(GpuRead& read, GpuStream& stream) override {
    if (!queued_) queued_ = make_queued_reads(cufile_, handles_, memory_);
    queued_->queue(read, stream);
  }
  std::string mode() const override {
    return way_ + (registered_ ? "" : "; GPU memory not registered: through cuFile's own buffers");
  }

 private:
  static ReaderOptions direct() {
    ReaderOptions options;
    options.direct = true;
    return options;
  }
  /// Reads the beginning of each file, and checks which counter counts it.
  void look_at_ways(const FileTable& files, std::span<const std::uint32_t> selected, const std::string& uuid) {
    const CuFile::Ways ways = cufile_.ways();
    if (!ways.direct) {
      way_ =
          "through host memory (compatibility mode): the kernel has neither nvidia-fs nor PCI peer to peer for storage";
      return;
    }
    const CuFile::Counting counting(cufile_);
    const auto own_before = counting.reads(uuid);
    const auto all_before = nvidia_fs_reads();
    std::uint64_t tried = 0;
    for (std::size_t i = 0; i < std::min(handles_.size(), kMostTried); ++i) {
      const std::uint64_t length = std::min({files.size(selected[i]), memory_.size(), kTried}) / kPage * kPage;
      if (length > 0 && read(static_cast<std::uint32_t>(i), 0, length, 0) > 0) ++tried;
    }
    const auto own = counting.reads(uuid);
    const auto all = nvidia_fs_reads();
    if (tried > 0 && own && own_before)
      way_ = describe(own->direct - own_before->direct, own->through_host - own_before->through_host, ways.words,
                      "cuFile");
    else if (tried > 0 && all && all_before)
      way_ = describe(std::min(*all - *all_before, tried), tried - std::min(*all - *all_before, tried), ways.words,
                      "nvidia-fs");
    else
      way_ = fmt::format(
          "not known whether direct ({}) or through host memory: neither cuFile (CUDA 13.0 and later) nor nvidia-fs "
          "(rw_stats_enabled=1) counts reads here",
          ways.words);
  }
  static std::string describe(std::uint64_t direct, std::uint64_t through_host, const std::string& by,
                              const char* counted) {
    if (through_host == 0 && direct > 0) return fmt::format("direct ({}), as {} counted", by, counted);
    if (direct == 0)
      return fmt::format(
          "through host memory, as {} counted, although the kernel has {}: the file system, the file or "
          "the buffer does not do",
          counted, by);
    return fmt::format("{} of {} files direct ({}), the others through host memory, as {} counted", direct,
                       direct + through_host, by, counted);
  }
  void forget() noexcept {
    for (void* handle : handles_) cufile_.forget_file(handle);
    handles_.clear();
  }

  CuFile& cufile_;
  const GpuMemory& memory_;
  OpenFiles files_;
  std::vector<void*> handles_;
  std::unique_ptr<QueuedReads> queued_;
  bool registered_ = false;
  std::string way_;
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
  library_.find("cuFileBatchIOSetUp", make_batch);
  library_.find("cuFileBatchIOSubmit", submit_batch);
  library_.find("cuFileBatchIOGetStatus", ask_batch);
  library_.find("cuFileBatchIOCancel", cancel_batch);
  library_.find("cuFileBatchIODestroy", free_batch);
  library_.find("cuFileReadAsync", read_queued);
  library_.find("cuFileStreamRegister", use_stream);
  library_.find("cuFileStreamDeregister", forget_stream);
  library_.find("cuFileSetStatsLevel", set_level_);
  library_.find("cuFileGetStatsLevel", get_level_);
  library_.find("cuFileStatsStart", start_counting_);
  library_.find("cuFileStatsStop", stop_counting_);
  library_.find("cuFileGetStatsL3", statistics_);
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

CuFile::Ways CuFile::ways() const {
  Properties p{};
  if (properties_(&p).code != 0) return {true, "the kernel path is not reported"};
  if (p.major > 0) return {true, fmt::format("nvidia-fs {}.{}", p.major, p.minor)};
  if (p.status_flags & kPeerToPeer) return {true, "PCI peer to peer"};
  return {};
}

CuFile::Counting::Counting(CuFile& cufile) : cufile_(cufile) {
  constexpr int kByGpu = 3;
  if (!cufile.set_level_ || !cufile.get_level_ || !cufile.start_counting_ || !cufile.stop_counting_ ||
      !cufile.statistics_ || cufile.get_level_(&level_).code != 0 || cufile.set_level_(kByGpu).code != 0)
    return;
  counts_ = cufile.start_counting_().code == 0;
  if (!counts_) cufile.set_level_(level_);
}

CuFile::Counting::~Counting() {
  if (!counts_) return;
  // Counting costs a little with each read, which is not to be measured. Where cufile.json requests it, it goes on.
  if (level_ == 0) cufile_.stop_counting_();
  cufile_.set_level_(level_);
}

std::optional<CuFileReads> CuFile::Counting::reads(const std::string& uuid) const {
  if (!counts_) return std::nullopt;
  std::vector<unsigned char> all(kStatistics);
  if (cufile_.statistics_(all.data()).code != 0) return std::nullopt;
  return cufile_reads(all, uuid);
}

std::unique_ptr<GpuFileReader> CuFile::reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                              const GpuMemory& memory, const std::string& uuid) {
  if (const auto why = unusable()) throw RunError(*why);
  return std::make_unique<Reader>(*this, files, selected, memory, uuid);
}

}  // namespace headrace::cuda
