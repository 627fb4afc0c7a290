// The plugin's door, and why there may be no RDMA device behind it.
#include "harness/backends/plugin.h"
#include "harness/backends/verbs/endpoint.h"
#include "harness/backends/verbs/ports.h"

namespace headrace::verbs {
namespace {

class Backend final : public RdmaBackend {
 public:
  Backend() : found_(find_ports()) {}
  std::optional<std::string> unusable() const override {
    return found_.why_none.empty() ? std::nullopt : std::optional(found_.why_none);
  }
  const std::vector<RdmaPort>& ports() const override { return found_.ports; }
  std::unique_ptr<RdmaEndpoint> open(const RdmaPort& port, const RdmaSettings& settings) override {
    const auto at = static_cast<std::size_t>(&port - found_.ports.data());
    return make_endpoint(found_.devices.at(at), port, settings);
  }

 private:
  Ports found_;
};

class VerbsPlugin final : public Plugin {
 public:
  std::string version() const override { return "libibverbs " HEADRACE_IBVERBS_VERSION; }
  std::unique_ptr<RdmaBackend> rdma_backend() override { return std::make_unique<Backend>(); }
};

}  // namespace
}  // namespace headrace::verbs

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::verbs::VerbsPlugin plugin;
  return &plugin;
}
