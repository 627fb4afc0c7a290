// Version, revision and compiler of this build, and the schemas it reads.
#pragma once

#include <string>
#include <string_view>

namespace headrace {

extern const char* const kVersion;     // "0.1.0"
extern const char* const kRevision;    // git revision, "-dirty" when the tree had changes; "unknown" outside git
extern const char* const kCompiler;    // "GCC 12.2.0"
extern const char* const kBuildType;   // "Release"
extern const char* const kSanitizers;  // "address,undefined"; "" = none

/// Why figures of this build show less than the machine gives: "this headrace is a Debug build"; "" = they do not.
std::string slow_build();
/// The same of any build.
std::string slow_build(std::string_view build_type, std::string_view sanitizers);

/// The `schema:` that a configuration and a job file must carry; results::kSchema is that of run files.
inline constexpr int kConfigSchema = 1;
inline constexpr int kJobSchema = 1;

}  // namespace headrace
