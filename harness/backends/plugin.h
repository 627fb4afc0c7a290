// The interface of an optional backend: a shared object next to the binary with one C function.
#pragma once

#include <memory>
#include <string>

#include "harness/backends/codec.h"
#include "harness/backends/collective.h"
#include "harness/backends/file_io.h"
#include "harness/backends/gpu.h"
#include "harness/backends/nccl.h"
#include "harness/backends/rdma.h"
#include "harness/backends/stream_io.h"
#include "harness/backends/table.h"

namespace headrace {

/// Bumped when any interface a plugin implements changes; a plugin of another number is refused,
/// with the reason.
inline constexpr int kPluginInterface = 20;

/// The object that a plugin hands over; the table of engines.h has its kind and abilities. A new kind of backend adds a
/// virtual function here and a header next to file_io.h.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual int interface_version() const { return kPluginInterface; }
  /// Library versions in use, for --version and the fingerprint: "liburing 2.3".
  virtual std::string version() const = 0;
  /// nullptr when this plugin is no storage engine.
  virtual std::unique_ptr<StorageEngine> storage_engine() { return nullptr; }
  /// nullptr when this plugin moves nothing over sockets.
  virtual std::unique_ptr<StreamEngine> stream_engine() { return nullptr; }
  /// nullptr when this plugin drives no GPUs.
  virtual std::unique_ptr<GpuBackend> gpu_backend() { return nullptr; }
  /// nullptr when this plugin drives no RDMA devices.
  virtual std::unique_ptr<RdmaBackend> rdma_backend() { return nullptr; }
  /// nullptr when this plugin is no MPI library.
  virtual std::unique_ptr<MessagePassing> message_passing() { return nullptr; }
  /// nullptr when this plugin has no collective operations of GPUs.
  virtual std::unique_ptr<NcclBackend> nccl_backend() { return nullptr; }
  /// nullptr when this plugin decodes no samples.
  virtual std::unique_ptr<Codec> codec() { return nullptr; }
  /// nullptr when this plugin reads no tables.
  virtual std::unique_ptr<TableFormat> tables() { return nullptr; }
};

/// Every plugin exports exactly this: extern "C" headrace::Plugin* headrace_plugin(); the object is
/// static.
using PluginFactory = Plugin* (*)();
inline constexpr const char* kPluginSymbol = "headrace_plugin";

}  // namespace headrace
