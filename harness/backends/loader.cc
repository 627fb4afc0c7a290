#include "harness/backends/loader.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "harness/backends/plugin.h"
#include "harness/backends/posix/posix_engine.h"
#include "harness/diagnostics.h"
#include "harness/version.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

struct Known {
  const char* name;
  const char*
      needs;  // what a build must find to have it; nullptr = this version has no such plugin
};
constexpr std::array kKnown{
    Known{"posix", nullptr}, Known{"mmap", nullptr}, Known{"io_uring", "liburing 2.3 or later"},
    Known{"cuda", nullptr},  Known{"nccl", nullptr},
    Known{"verbs", nullptr}, Known{"mpi", nullptr},
};

/// Beside the binary in a build folder, in an installed tree, and above it for the programs in a
/// build's subfolder.
std::vector<fs::path> plugin_folders() {
  std::error_code ignored;
  const fs::path exe = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  return {exe / "plugins", exe / "../lib/headrace/plugins", exe / "../plugins"};
}

std::optional<fs::path> find_plugin(const std::string& name) {
  for (const fs::path& folder : plugin_folders()) {
    const fs::path file = folder / ("headrace_" + name + ".so");
    std::error_code ignored;
    if (fs::exists(file, ignored)) return file;
  }
  return std::nullopt;
}

/// The plugin in `file`; on failure null, and `why` says what was wrong. It stays loaded until the
/// program ends.
Plugin* load(const fs::path& file, std::string& why) {
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
};

Backends::Backends() : impl_(std::make_unique<Impl>()) {
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
      if (Plugin* plugin = load(*file, status.reason)) {
        status.version = plugin->version();
        engine = plugin->storage_engine();
        status.usable = engine == nullptr;
      }
    } else if (known.needs) {
      status.reason =
          std::string("not built into this installation: the build needs ") + known.needs;
    } else {
      status.reason = "not built in this version";
    }
    if (engine) {
      status.reason = engine->unusable().value_or("");
      status.usable = status.reason.empty();
      impl_->engines.emplace(status.name, std::move(engine));
    }
    status_.push_back(std::move(status));
  }
}

Backends::~Backends() = default;

std::string Backends::why_not(const std::string& name) const {
  const auto found =
      std::find_if(status_.begin(), status_.end(), [&](const auto& s) { return s.name == name; });
  if (found == status_.end()) return "there is no backend '" + name + "'";
  return found->usable ? "" : found->name + ": " + found->reason;
}

StorageEngine& Backends::storage(const std::string& name) {
  const bool known =
      std::any_of(status_.begin(), status_.end(), [&](const auto& s) { return s.name == name; });
  const std::string why = why_not(name);
  if (!known) throw UsageError(why);
  if (!why.empty()) throw RunError(why);
  const auto engine = impl_->engines.find(name);
  if (engine == impl_->engines.end())
    throw UsageError("backend '" + name + "' does no storage I/O");
  return *engine->second;
}

}  // namespace headrace
