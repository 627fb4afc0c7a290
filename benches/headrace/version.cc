#include "benches/headrace/version.h"

#include <fmt/format.h>

#include "harness/backends/loader.h"
#include "harness/backends/plugin.h"
#include "harness/base/version.h"
#include "harness/results/result_store.h"

namespace headrace::cli {
namespace {

std::string state_of(const BackendStatus& backend) {
  if (!backend.built) return backend.reason;
  if (!backend.usable) return fmt::format("not usable: {}", backend.reason);
  return backend.version.empty() ? "usable" : fmt::format("usable ({})", backend.version);
}

}  // namespace

Text version_text() {
  Text text = Text::format(
      "headrace {}\n"
      "revision  {}\n"
      "compiler  {}, {}\n"
      "schemas   config {}, job {}, run files {}, plugin interface {}",
      kVersion, kRevision, kCompiler, kBuildType, kConfigSchema, kJobSchema, results::kSchema, kPluginInterface);
  const Backends backends;
  const char* label = "backends";
  for (const BackendStatus& backend : backends.status()) {
    text += Text::format("\n{:<9} {:<9} {}", label, backend.name, state_of(backend));
    label = "";
  }
  return text;
}

}  // namespace headrace::cli
