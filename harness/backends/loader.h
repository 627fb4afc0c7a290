// Which backends there are on this machine, and why the others are not.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/engines.h"
#include "harness/backends/file_io.h"

namespace headrace {

class Codec;
class GpuBackend;
class NcclBackend;
class RdmaBackend;
class MessagePassing;
class StreamEngine;
class TableFormat;

/// One backend's state; `headrace --version` and `doctor` print it.
struct BackendStatus {
  std::string name;
  bool built = false;   // compiled into this installation
  bool usable = false;  // loaded, and works on this machine
  std::string version;
  std::string reason;  // why not built or not usable; "" when usable
};

/// Looks for plugins next to the binary: EXE/plugins, then EXE/../lib/headrace/plugins. Backends that the table of
/// engines.h marks as always built need none.
class Backends {
 public:
  Backends();
  ~Backends();
  Backends(const Backends&) = delete;

  /// All known backends in a fixed order, also those that this build does not have. Starts the GPU driver if it has not
  /// been started.
  const std::vector<BackendStatus>& status() const;
  /// The engine of that name. Throws UsageError for an unknown name and RunError for one that is
  /// not usable.
  StorageEngine& storage(const std::string& name);
  /// StorageEngine::stop_with() for all of them, those too that are loaded later.
  void stop_with(const std::atomic<int>& stop);
  /// The same over sockets.
  StreamEngine& streams(const std::string& name);
  /// The codec of that name. Throws as storage() does.
  const Codec& codec(const std::string& name);
  /// It, and where it is of images the others of images that are usable. Throws as storage() does.
  std::vector<const Codec*> codecs(const std::string& name);
  /// Parquet files. Throws RunError when they cannot be read: why_not(Gives::tables).
  const TableFormat& tables();
  /// The GPUs of this machine. Throws RunError when there are none that can be used: why_not(Gives::gpus).
  GpuBackend& gpu();
  /// Replaces the plugin by `gpu`: tests copy with it where there is no GPU.
  void replace_gpu(std::unique_ptr<GpuBackend> gpu);
  /// The RDMA devices of this machine. Throws RunError when there are none that can be used: why_not(Gives::rdma).
  RdmaBackend& rdma();
  /// Replaces the plugin by `rdma`: tests connect with it where there is no device.
  void replace_rdma(std::unique_ptr<RdmaBackend> rdma);
  /// The MPI library, loaded when this is first asked for. Throws RunError when there is none: why_not(Gives::messages).
  MessagePassing& mpi();
  /// Collective operations of GPUs. Throws RunError when NCCL cannot be used: why_not(Gives::gpu_collectives).
  NcclBackend& nccl();
  /// Puts `nccl` in the place of the plugin: for tests without GPUs.
  void replace_nccl(std::unique_ptr<NcclBackend> nccl);
  /// Why `what` cannot be used here, or "".
  std::string why_not(Gives what) const;
  /// The same of one backend.
  std::string why_not(const std::string& name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace
