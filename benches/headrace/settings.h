// `--set a=1 b=2`: each of several settings after one --set is one.
#pragma once

#include <string>
#include <vector>

namespace headrace::cli {

/// The same words, with a --set before every KEY=VALUE that follows another one's value. What comes after "--" stays.
std::vector<std::string> each_setting_alone(const std::vector<std::string>& words);

}  // namespace headrace::cli
