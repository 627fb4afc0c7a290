// What `headrace` alone prints: the commands to begin with, for what lies in the current folder.
#pragma once

#include <string>
#include <vector>

#include "benches/headrace/description.h"

namespace headrace::cli {

/// Three commands, each with a line that says what it answers. `names`: files of the current folder and of the folders in it.
std::vector<Example> first_commands(const std::vector<std::string>& names);

/// At most 1,000 names: the files of `folder`, then those of the folders in it. Folders that cannot be read have none.
std::vector<std::string> names_near(const std::string& folder);

}  // namespace headrace::cli
