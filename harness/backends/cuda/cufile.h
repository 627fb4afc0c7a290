// GPUDirect Storage, loaded when libcufile is there.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "harness/backends/cuda/gds_counters.h"
#include "harness/backends/gpu.h"
#include "harness/backends/library.h"

namespace headrace::cuda {

/// The library's functions and their few types, by its stable binary interface. Its header is an optional part of the
/// toolkit.
class CuFile {
 public:
  /// CUfileError_t.
  struct Status {
    int code;    // 0 = success, else from 5001
    int driver;  // CUresult when `code` reports on the driver
  };
  /// CUfileDescr_t of an open file descriptor.
  struct Description {
    int type = 1;  // CU_FILE_HANDLE_TYPE_OPAQUE_FD
    union {
      int fd;
      void* handle;
    } handle{};
    const void* operations = nullptr;
  };
  /// CUfileDrvProps_t up to the last member read here; newer libraries write more behind it.
  struct Properties {
    unsigned major, minor;
    std::size_t poll_threshold, largest_direct;
    unsigned status_flags, control_flags;
    unsigned char more[256];
  };

  /// CUfileIOParams_t of a read.
  struct BatchRead {
    int mode = 1;  // CUFILE_BATCH
    struct {
      void* memory;
      off_t file_offset, memory_offset;
      std::size_t length;
    } read{};
    void* file = nullptr;
    int operation = 0;  // CUFILE_READ
    void* cookie = nullptr;
  };
  /// CUfileIOEvents_t.
  struct BatchEvent {
    void* cookie = nullptr;
    int status = 0;  // CUfileStatus_t
    std::size_t result = 0;
  };

  static CuFile& instance();

  /// Why it cannot be used, or nothing. Opens the library's driver on first use.
  std::optional<std::string> unusable();
  /// `memory` is of the GPU with this UUID.
  std::unique_ptr<GpuFileReader> reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                        const GpuMemory& memory, const std::string& uuid);
  /// "not supported on this file system (cuFile 5008)".
  static std::string words(int code);
  /// The kernel's support: whether reads could be direct at all. Which way they went, only counters report.
  struct Ways {
    bool direct = false;
    std::string words;  // "nvidia-fs 2.24"
  };
  Ways ways() const;
  /// While it lives, cuFile counts reads by their ways, where its version can.
  class Counting {
   public:
    explicit Counting(CuFile& cufile);
    ~Counting();
    Counting(const Counting&) = delete;
    /// The reads of the GPU with this UUID, since cuFile was started; nothing where they are not reported.
    std::optional<CuFileReads> reads(const std::string& uuid) const;

   private:
    CuFile& cufile_;
    int level_ = 0;  // before
    bool counts_ = false;
  };

  Status (*register_file)(void** handle, Description*) = nullptr;
  void (*forget_file)(void* handle) = nullptr;
  Status (*register_memory)(const void*, std::size_t, int) = nullptr;
  Status (*forget_memory)(const void*) = nullptr;
  // From CUDA 12.2 on; null before.
  Status (*make_batch)(void** batch, unsigned most) = nullptr;
  Status (*submit_batch)(void* batch, unsigned count, BatchRead*, unsigned flags) = nullptr;
  Status (*ask_batch)(void* batch, unsigned least, unsigned* count, BatchEvent*, timespec*) = nullptr;
  Status (*cancel_batch)(void* batch) = nullptr;
  void (*free_batch)(void* batch) = nullptr;
  Status (*read_queued)(void* file, void* memory, std::size_t*, off_t* file_offset, off_t* memory_offset,
                        ssize_t* result, void* stream) = nullptr;
  Status (*use_stream)(void* stream, unsigned flags) = nullptr;
  Status (*forget_stream)(void* stream) = nullptr;

  ssize_t (*read)(void* handle, void* memory, std::size_t, off_t file_offset, off_t memory_offset) = nullptr;

 private:
  CuFile();
  Library library_{"libcufile.so.0", "libcufile.so"};
  Status (*open_)() = nullptr;
  Status (*properties_)(Properties*) = nullptr;
  // From CUDA 13.0 on.
  Status (*set_level_)(int) = nullptr;
  Status (*get_level_)(int*) = nullptr;
  Status (*start_counting_)() = nullptr;
  Status (*stop_counting_)() = nullptr;
  Status (*statistics_)(void*) = nullptr;  // cuFileGetStatsL3
  std::optional<std::string> why_;
  bool asked_ = false;
};

}  // namespace headrace::cuda
