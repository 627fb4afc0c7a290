// Version, revision and compiler of this build.
#pragma once

namespace headrace {

extern const char* const kVersion;    // "0.1.0"
extern const char* const kRevision;   // git revision, "-dirty" when the tree had changes; "unknown" outside git
extern const char* const kCompiler;   // "GCC 12.2.0"
extern const char* const kBuildType;  // "Release"

}  // namespace headrace
