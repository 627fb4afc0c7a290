// Records of bring-ups, for their tests.
#pragma once

#include <string>

#include "harness/bringup/record.h"
#include "harness/machine/network/hosts_file.h"

namespace headrace::bringup {

/// Of the lines of a hosts file; nothing was measured yet.
inline Record record_of(const std::string& hosts) {
  Record record;
  for (const Host& host : hosts_from(hosts, "hosts")) record.nodes.emplace_back().host = host;
  return record;
}

}  // namespace headrace::bringup
