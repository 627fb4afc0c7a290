// The one file that knows, so that the same tests in another folder need not be compiled again.
#include "tests/unit/source_dir.h"

std::string source_dir() { return HEADRACE_SOURCE_DIR; }
