#include "harness/base/version.h"

#include "headrace_revision.h"  // made at build time by tools/cmake/revision.cmake

#if defined(__clang__)
#define HEADRACE_COMPILER "Clang " __clang_version__
#elif defined(__GNUC__)
#define HEADRACE_COMPILER "GCC " __VERSION__
#else
#define HEADRACE_COMPILER "unknown"
#endif

namespace headrace {

const char* const kVersion = HEADRACE_VERSION;
const char* const kRevision = HEADRACE_REVISION;
const char* const kCompiler = HEADRACE_COMPILER;
const char* const kBuildType = HEADRACE_BUILD_TYPE;
const char* const kSanitizers = HEADRACE_SANITIZERS;

std::string slow_build() { return slow_build(kBuildType, kSanitizers); }

std::string slow_build(std::string_view build_type, std::string_view sanitizers) {
  const bool optimized = build_type == "Release" || build_type == "RelWithDebInfo" || build_type == "MinSizeRel";
  if (optimized && sanitizers.empty()) return "";
  std::string why = "this headrace is a " + std::string(build_type.empty() ? "non-optimized" : build_type) + " build";
  if (!sanitizers.empty()) why += " with sanitizers (" + std::string(sanitizers) + ")";
  return why;
}

}  // namespace headrace
