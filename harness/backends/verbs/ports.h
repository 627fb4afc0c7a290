// The ports of all devices, as libibverbs and /sys report on them.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/backends/rdma.h"

namespace headrace::verbs {

struct CloseDevice {
  void operator()(ibv_context* device) const { ibv_close_device(device); }
};
using Device = std::shared_ptr<ibv_context>;

/// A port and the device that it is opened through.
struct Ports {
  std::vector<RdmaPort> ports;
  std::vector<Device> devices;  // of the port at the same place; several ports share one
  std::string why_none;         // "" when there is any
};

/// Never throws. Devices that do not open are left out, and reported when no other is left.
Ports find_ports();

}  // namespace headrace::verbs
