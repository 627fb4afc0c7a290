// Any text as a configuration: refused with problems that have a place, or a plan that is planned
// the same from its own resolved configuration.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "harness/base/config/document.h"
#include "harness/engine/plan/plan.h"
#include "tests/fuzz/invariant.h"
#include "tests/unit/temporary_folder.h"

namespace {
using namespace headrace;
using fuzzing::expect;

const headrace::testing::TemporaryFolder& folder() {
  static const headrace::testing::TemporaryFolder one;
  return one;
}

PlanOptions options_for(const std::string& name, std::string_view text) {
  PlanOptions options;
  options.config_file = folder() / name;
  if (text.find("${") != text.npos) options.job_file = HEADRACE_SOURCE_DIR "/configs/jobs/resnet50-imagenet.yaml";
  return options;
}

/// Every line of a refusal names the file, or what it extends, that must be mended.
void check_refusal(const std::string& what) {
  expect(!what.empty(), "a refusal says why", what);
  std::istringstream lines(what);
  for (std::string line; std::getline(lines, line);)
    expect(line.find(".yaml") != line.npos || line.find(folder().path()) != line.npos || line.starts_with("/"),
           "a problem has a place", line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // What it extends would be any file of this machine.
  if (text.find("extends") != text.npos) return -1;
  folder().write("config.yaml", text);
  std::string resolved, hash;
  std::size_t points = 0;
  try {
    const Plan plan = make_plan(options_for("config.yaml", text));
    resolved = config::to_yaml(plan.resolved);
    hash = plan.config_hash;
    points = plan.points.size();
  } catch (const UsageError& e) {
    check_refusal(e.what());
    return 0;
  }
  folder().write("resolved.yaml", resolved);
  try {
    PlanOptions again = options_for("resolved.yaml", text);
    const Plan plan = make_plan(again);
    expect(plan.points.size() == points && plan.config_hash == hash, "a resolved configuration plans the same",
           resolved + "\n----\n" + config::to_yaml(plan.resolved));
  } catch (const UsageError& e) {
    expect(false, "a resolved configuration is good", resolved + "\n" + e.what());
  }
  return 0;
}
