#include "harness/machine/interface_driver.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "harness/base/system/unique_fd.h"

namespace headrace::system {

std::string interface_driver(const std::string& name) {
  const UniqueFd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  if (!any || name.size() >= sizeof request.ifr_name) return "";
  std::copy(name.begin(), name.end(), request.ifr_name);
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  request.ifr_data = reinterpret_cast<char*>(&info);
  if (::ioctl(any.get(), SIOCETHTOOL, &request) != 0) return "";
  return {info.driver, ::strnlen(info.driver, sizeof info.driver)};
}

}  // namespace headrace::system
