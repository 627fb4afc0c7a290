#include "harness/bringup/agents/scratch.h"

#include <filesystem>

#include "harness/base/system/installation.h"
#include "harness/bringup/agents/child.h"

namespace headrace::agents {
namespace {

constexpr double kClean_s = 120;

}  // namespace

std::string remove_scratch(const std::string& folder) {
  if (!std::filesystem::exists(folder)) return "";
  const Ended ended = run_child({system::installation().binary, "clean", folder}, kNobody, kClean_s);
  return std::filesystem::exists(folder) ? folder + (ended.words.empty() ? "" : ": " + ended.words) : "";
}

}  // namespace headrace::agents
