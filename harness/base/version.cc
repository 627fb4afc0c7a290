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

}  // namespace headrace
