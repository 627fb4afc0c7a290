#include "harness/results/default_params.h"

#include <mutex>
#include <nlohmann/json.hpp>

#include "harness/record/params.h"
#include "harness/results/json_place.h"
#include "harness/workload/registry.h"
#include "harness/workload/workload.h"

namespace headrace::results {
namespace {

using NamesAndWords = std::map<std::string, std::string>;

NamesAndWords defaults_of(const WorkloadInfo& info) {
  config::Value nothing;
  nothing.kind = config::Value::Kind::map;
  Diagnostics ignored;
  Params params(std::string(info.name), nothing, ignored);
  info.make(params);
  NamesAndWords words;
  for (const auto& [name, value] : params.resolved()) {
    const nlohmann::json json = std::visit([](const auto& v) { return nlohmann::json(v); }, value);
    words[name] = JsonPlace(json).word();
  }
  return words;
}

}  // namespace

void add_default_params(const std::string& workload, NamesAndWords& params) {
  static std::mutex mutex;
  static std::map<std::string, NamesAndWords> known;  // files are read on all cores, and one has many points
  const std::lock_guard lock(mutex);
  auto found = known.find(workload);
  if (found == known.end()) {
    const WorkloadInfo* info = Registry::instance().find(workload);
    found = known.emplace(workload, info == nullptr ? NamesAndWords{} : defaults_of(*info)).first;
  }
  params.insert(found->second.begin(), found->second.end());
}

}  // namespace headrace::results
