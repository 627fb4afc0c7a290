#include "harness/backends/loader.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "harness/backends/engines.h"
#include "harness/backends/plugin.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/system/installation.h"
#include "harness/base/version.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> find_plugin(const std::string& name) {
  const std::string& folder = system::installation().plugins;
  const fs::path file = fs::path(folder) / ("headrace_" + name + ".so");
  std::error_code ignored;
  if (folder.empty() || !fs::exists(file, ignored)) return std::nullopt;
  return file;
}

/// The plugin in `file`; on failure null, and `why` gives the reason. It stays loaded until the program ends.
Plugin* load_plugin(const fs::path& file, std::string& why) {
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

std::string no_backend(const std::string& name) { return "there is no backend '" + name + "'"; }

}  // namespace

struct Backends::Impl {
  struct Backend {
    const BackendTraits& traits;
    std::optional<fs::path> file{};  // of a plugin that is not yet loaded
    std::unique_ptr<StorageEngine> storage{};
    std::unique_ptr<StreamEngine> streams{};
    std::unique_ptr<Codec> codec{};
  };
  std::vector<Backend> backends;
  std::vector<BackendStatus> status;  // of each of them
  std::unique_ptr<GpuBackend> gpu;
  std::unique_ptr<RdmaBackend> rdma;
  std::unique_ptr<MessagePassing> mpi;
  std::unique_ptr<NcclBackend> nccl;
  std::unique_ptr<TableFormat> tables;
  const std::atomic<int>* stop = nullptr;  // the stop flag for engines that are created later

  template <class Fits>
  std::size_t first(Fits fits) const {
    return static_cast<std::size_t>(std::find_if(backends.begin(), backends.end(), fits) - backends.begin());
  }
  std::size_t find(Gives what) const {
    return first([what](const Backend& b) { return b.traits.gives == what; });
  }
  std::size_t find(const std::string& name) const {
    return first([&name](const Backend& b) { return b.traits.name == name; });
  }

  void report(std::size_t i, const std::optional<std::string>& unusable) {
    status[i].built = true;
    status[i].reason = unusable.value_or("");
    status[i].usable = status[i].reason.empty();
  }
  template <class Given>
  void use(std::unique_ptr<Given> given, std::unique_ptr<Given>& place, Gives what) {
    if (!given) return;
    place = std::move(given);
    report(find(what), place->unusable());
  }
  void use_storage(std::size_t i, std::unique_ptr<StorageEngine> engine) {
    if (!engine) return;
    backends[i].storage = std::move(engine);
    if (stop != nullptr) backends[i].storage->stop_with(*stop);
    report(i, backends[i].storage->unusable());
  }
  /// Takes all that the backend's plugin gives, unless that was done.
  void load(std::size_t i) {
    const auto file = std::exchange(backends[i].file, std::nullopt);
    if (!file) return;
    Plugin* plugin = load_plugin(*file, status[i].reason);
    if (!plugin) return;
    status[i].version = plugin->version();
    status[i].reason = file->string() + " gives nothing";
    use_storage(i, plugin->storage_engine());
    backends[i].streams = plugin->stream_engine();
    if (auto codec = plugin->codec()) {
      backends[i].codec = std::move(codec);
      report(i, std::nullopt);
    }
    if (auto given = plugin->tables()) {
      tables = std::move(given);
      report(i, std::nullopt);
    }
    use(plugin->gpu_backend(), gpu, Gives::gpus);
    use(plugin->rdma_backend(), rdma, Gives::rdma);
    use(plugin->nccl_backend(), nccl, Gives::gpu_collectives);
    if (auto messages = plugin->message_passing()) {
      mpi = std::move(messages);
      report(i, std::nullopt);
    }
  }
  std::string why_not(std::size_t i) {
    load(i);
    return status[i].usable ? "" : status[i].name + ": " + status[i].reason;
  }
  /// Throws RunError where its plugin cannot be used.
  void require(Gives what) {
    if (const std::string why = why_not(find(what)); !why.empty()) throw RunError(why);
  }
  /// The same by name; throws UsageError where there is no such backend.
  Backend& require(const std::string& name) {
    const std::size_t i = find(name);
    if (i == backends.size()) throw UsageError(no_backend(name));
    if (const std::string why = why_not(i); !why.empty()) throw RunError(why);
    return backends[i];
  }
};

Backends::Backends() : impl_(std::make_unique<Impl>()) {
  Impl& all = *impl_;
  for (const BackendTraits& traits : known_backends()) {
    const std::size_t i = all.backends.size();
    all.backends.push_back({.traits = traits});
    BackendStatus& status = all.status.emplace_back();
    status.name = traits.name;
    if (traits.needs == nullptr) {
      status.version = kVersion;
      all.use_storage(i, traits.make_storage());
      if (traits.make_streams != nullptr) all.backends[i].streams = traits.make_streams();
    } else if (const auto file = find_plugin(status.name)) {
      status.built = true;
      all.backends[i].file = file;
    } else if (!system::installation().why.empty()) {
      status.reason = system::installation().why;
    } else {
      status.reason = std::string("not built into this installation: the build needs ") + traits.needs;
    }
  }
  for (std::size_t i = 0; i < all.backends.size(); ++i)
    if (!all.backends[i].traits.late) all.load(i);
}

Backends::~Backends() = default;

const std::vector<BackendStatus>& Backends::status() const {
  for (std::size_t i = 0; i < impl_->backends.size(); ++i) impl_->load(i);
  return impl_->status;
}

std::string Backends::why_not(const std::string& name) const {
  const std::size_t i = impl_->find(name);
  return i == impl_->backends.size() ? no_backend(name) : impl_->why_not(i);
}

std::string Backends::why_not(Gives what) const { return impl_->why_not(impl_->find(what)); }

StorageEngine& Backends::storage(const std::string& name) {
  const auto& engine = impl_->require(name).storage;
  if (!engine) throw UsageError("backend '" + name + "' does no storage I/O");
  return *engine;
}

void Backends::stop_with(const std::atomic<int>& stop) {
  impl_->stop = &stop;
  for (const Impl::Backend& backend : impl_->backends)
    if (backend.storage) backend.storage->stop_with(stop);
}

StreamEngine& Backends::streams(const std::string& name) {
  const auto& engine = impl_->require(name).streams;
  if (!engine) throw UsageError("backend '" + name + "' moves nothing over sockets");
  return *engine;
}

const Codec& Backends::codec(const std::string& name) {
  const auto& codec = impl_->require(name).codec;
  if (!codec) throw UsageError("backend '" + name + "' decodes nothing");
  return *codec;
}

std::vector<const Codec*> Backends::codecs(const std::string& name) {
  std::vector<const Codec*> all{&codec(name)};
  if (!all.front()->image_decoder({})) return all;
  for (const std::string& other : known_codecs())
    if (other != name && why_not(other).empty() && codec(other).image_decoder({})) all.push_back(&codec(other));
  return all;
}

const TableFormat& Backends::tables() {
  impl_->require(Gives::tables);
  return *impl_->tables;
}

GpuBackend& Backends::gpu() {
  impl_->require(Gives::gpus);
  return *impl_->gpu;
}

RdmaBackend& Backends::rdma() {
  impl_->require(Gives::rdma);
  return *impl_->rdma;
}

NcclBackend& Backends::nccl() {
  impl_->require(Gives::gpu_collectives);
  return *impl_->nccl;
}

MessagePassing& Backends::mpi() {
  impl_->require(Gives::messages);
  return *impl_->mpi;
}

void Backends::replace_gpu(std::unique_ptr<GpuBackend> gpu) {
  impl_->backends[impl_->find(Gives::gpus)].file.reset();  // the plugin is not asked any more
  impl_->use(std::move(gpu), impl_->gpu, Gives::gpus);
}

void Backends::replace_rdma(std::unique_ptr<RdmaBackend> rdma) {
  impl_->use(std::move(rdma), impl_->rdma, Gives::rdma);
}

void Backends::replace_nccl(std::unique_ptr<NcclBackend> nccl) {
  impl_->use(std::move(nccl), impl_->nccl, Gives::gpu_collectives);
}

}  // namespace headrace
