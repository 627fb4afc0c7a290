#include "harness/backends/loader.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <utility>

#include "harness/backends/plugin.h"
#include "harness/backends/posix/posix_engine.h"
#include "harness/backends/posix/streams.h"
#include "harness/base/diagnostics.h"
#include "harness/base/version.h"
#include "harness/system/installation.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

struct Known {
  const char* name;
  const char* needs;  // what a build must find to have it; nullptr = this version has no such plugin
};
constexpr std::array kKnown{
    Known{"posix", nullptr},
    Known{"mmap", nullptr},
    Known{"io_uring", "liburing 2.3 or later"},
    Known{"cuda", "the CUDA Toolkit 12.4 or later"},
    Known{"nccl", "nccl.h 2.18 or later and the CUDA Toolkit"},
    Known{"verbs", "libibverbs of rdma-core 34 or later"},
    Known{"mpi", "MPI 3.1 or later, such as Open MPI"},
};

std::optional<fs::path> find_plugin(const std::string& name) {
  const std::string& folder = system::installation().plugins;
  const fs::path file = fs::path(folder) / ("headrace_" + name + ".so");
  std::error_code ignored;
  if (folder.empty() || !fs::exists(file, ignored)) return std::nullopt;
  return file;
}

/// The plugin in `file`; on failure null, and `why` says what was wrong. It stays loaded until the
/// program ends.
Plugin* load(const fs::path& file, std::string& why) {
  for (const fs::path& path : {file.parent_path(), file})
    if (why = system::foreign_writer(path); !why.empty()) return nullptr;
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    why = ::dlerror();
    return nullptr;
  }
  const auto factory = reinterpret_cast<PluginFactory>(::dlsym(library, kPluginSymbol));
  if (!factory) {
    why = file.string() + " is not a headrace plugin: it has no " + kPluginSymbol;
    return nullptr;
  }
  Plugin* plugin = factory();
  if (plugin->interface_version() == kPluginInterface) return plugin;
  why = file.string() + " speaks plugin interface " + std::to_string(plugin->interface_version()) +
        ", this binary speaks " + std::to_string(kPluginInterface);
  return nullptr;
}

}  // namespace

struct Backends::Impl {
  std::map<std::string, std::unique_ptr<StorageEngine>> engines;
  std::map<std::string, std::unique_ptr<StreamEngine>> streams;
  std::vector<BackendStatus> status;
  Plugin* gpu_plugin = nullptr;  // not yet asked: starting the driver takes time, and storage tests need no GPU
  std::unique_ptr<GpuBackend> gpu;
  std::unique_ptr<RdmaBackend> rdma;
  std::optional<fs::path> mpi_file;  // not yet loaded: MPI libraries are large, and one process needs none
  std::unique_ptr<MessagePassing> mpi;
  std::unique_ptr<NcclBackend> nccl;

  BackendStatus* find(const std::string& name) {
    const auto found = std::find_if(status.begin(), status.end(), [&](const auto& s) { return s.name == name; });
    return found == status.end() ? nullptr : &*found;
  }
  void tell(const char* name, const std::optional<std::string>& unusable) {
    BackendStatus& told = *find(name);
    told.built = true;
    told.reason = unusable.value_or("");
    told.usable = told.reason.empty();
  }
  void use(std::unique_ptr<GpuBackend> backend) {
    gpu = std::move(backend);
    tell("cuda", gpu->unusable());
  }
  void use(std::unique_ptr<RdmaBackend> backend) {
    rdma = std::move(backend);
    tell("verbs", rdma->unusable());
  }
  void use(std::unique_ptr<NcclBackend> backend) {
    nccl = std::move(backend);
    tell("nccl", nccl->unusable());
  }
  void ask_for_gpu() {
    if (Plugin* plugin = std::exchange(gpu_plugin, nullptr)) use(plugin->gpu_backend());
  }
  void load_mpi() {
    const auto file = std::exchange(mpi_file, std::nullopt);
    if (!file) return;
    BackendStatus& status = *find("mpi");
    if (Plugin* plugin = load(*file, status.reason)) {
      status.version = plugin->version();
      mpi = plugin->message_passing();
      status.usable = true;
    }
  }
};

Backends::Backends() : impl_(std::make_unique<Impl>()) {
  impl_->streams.emplace("posix", make_posix_streams());
  for (const Known& known : kKnown) {
    BackendStatus status;
    status.name = known.name;
    std::unique_ptr<StorageEngine> engine;
    if (status.name == "posix" || status.name == "mmap") {
      status.built = true;
      status.version = kVersion;
      engine = status.name == "posix" ? make_posix_engine() : make_mmap_engine();
    } else if (const auto file = find_plugin(status.name)) {
      status.built = true;
      if (status.name == "mpi") {
        impl_->mpi_file = file;
      } else if (Plugin* plugin = load(*file, status.reason)) {
        status.version = plugin->version();
        engine = plugin->storage_engine();
        if (auto streams = plugin->stream_engine()) impl_->streams.emplace(status.name, std::move(streams));
        if (status.name == "cuda") impl_->gpu_plugin = plugin;
        if (status.name == "verbs") impl_->rdma = plugin->rdma_backend();
        if (status.name == "nccl") impl_->nccl = plugin->nccl_backend();
      }
    } else if (!system::installation().why.empty()) {
      status.reason = system::installation().why;
    } else if (known.needs) {
      status.reason = std::string("not built into this installation: the build needs ") + known.needs;
    } else {
      status.reason = "not built in this version";
    }
    if (impl_->rdma && status.name == "verbs") {
      status.reason = impl_->rdma->unusable().value_or("");
      status.usable = status.reason.empty();
    }
    if (impl_->nccl && status.name == "nccl") {
      status.reason = impl_->nccl->unusable().value_or("");
      status.usable = status.reason.empty();
    }
    if (engine) {
      status.reason = engine->unusable().value_or("");
      status.usable = status.reason.empty();
      impl_->engines.emplace(status.name, std::move(engine));
    }
    impl_->status.push_back(std::move(status));
  }
}

Backends::~Backends() = default;

const std::vector<BackendStatus>& Backends::status() const {
  impl_->ask_for_gpu();
  impl_->load_mpi();
  return impl_->status;
}

std::string Backends::why_not(const std::string& name) const {
  if (name == "cuda") impl_->ask_for_gpu();
  if (name == "mpi") impl_->load_mpi();
  const BackendStatus* found = impl_->find(name);
  if (!found) return "there is no backend '" + name + "'";
  return found->usable ? "" : found->name + ": " + found->reason;
}

StorageEngine& Backends::storage(const std::string& name) {
  const std::string why = why_not(name);
  if (!impl_->find(name)) throw UsageError(why);
  if (!why.empty()) throw RunError(why);
  const auto engine = impl_->engines.find(name);
  if (engine == impl_->engines.end()) throw UsageError("backend '" + name + "' does no storage I/O");
  return *engine->second;
}

StreamEngine& Backends::streams(const std::string& name) {
  const std::string why = why_not(name);
  if (!impl_->find(name)) throw UsageError(why);
  if (!why.empty()) throw RunError(why);
  const auto engine = impl_->streams.find(name);
  if (engine == impl_->streams.end()) throw UsageError("backend '" + name + "' moves nothing over sockets");
  return *engine->second;
}

GpuBackend& Backends::gpu() {
  if (const std::string why = why_not("cuda"); !why.empty()) throw RunError(why);
  return *impl_->gpu;
}

RdmaBackend& Backends::rdma() {
  if (const std::string why = why_not("verbs"); !why.empty()) throw RunError(why);
  return *impl_->rdma;
}

NcclBackend& Backends::nccl() {
  if (const std::string why = why_not("nccl"); !why.empty()) throw RunError(why);
  return *impl_->nccl;
}

void Backends::replace_nccl(std::unique_ptr<NcclBackend> nccl) { impl_->use(std::move(nccl)); }

void Backends::replace_rdma(std::unique_ptr<RdmaBackend> rdma) { impl_->use(std::move(rdma)); }

MessagePassing& Backends::mpi() {
  if (const std::string why = why_not("mpi"); !why.empty()) throw RunError(why);
  return *impl_->mpi;
}

void Backends::replace_gpu(std::unique_ptr<GpuBackend> gpu) {
  impl_->gpu_plugin = nullptr;
  impl_->use(std::move(gpu));
}

}  // namespace headrace
