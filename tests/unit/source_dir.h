// Where the tree lies: tests read its configs, jobs and golden files.
#pragma once

#include <string>

/// Absolute, without a slash at its end.
std::string source_dir();
