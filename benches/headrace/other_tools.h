// The options that users of fio, elbencho, IOR and dd are used to.
#pragma once

#include <string>
#include <string_view>

namespace headrace::cli {

/// "; of fio and others: --block-size" for "--bs"; "" where no other tool has such an option.
std::string option_of_other_tools(std::string_view option);

/// The workload for other tools' "read", "randread", "write"; "" where there is none.
std::string workload_of_other_tools(std::string_view name);

}  // namespace headrace::cli
