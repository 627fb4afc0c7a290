// Which driver of the kernel an interface has.
#pragma once

#include <string>

namespace headrace::system {

/// "veth", "bridge", "dummy", "mlx5_core", of this network namespace whatever /sys shows; "" where the kernel gives none.
std::string interface_driver(const std::string& name);

}  // namespace headrace::system
