// What users of fio, elbencho, IOR and dd are used to type.
#pragma once

#include <string>
#include <string_view>

namespace headrace::cli {

/// "; of fio and others: --block-size" for "--bs"; "" where no other tool has such an option.
std::string option_of_other_tools(std::string_view option);

/// Which workload is what others call "read", "randread", "write"; "" where none is.
std::string workload_of_other_tools(std::string_view name);

}  // namespace headrace::cli
