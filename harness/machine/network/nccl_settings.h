// NCCL's own settings, from every place where NCCL reads them, and the selection by its lists of names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// A NCCL_* variable.
struct NcclSetting {
  std::string name, value;
  std::string source{};  // "/etc/nccl.conf"; "" = this process's environment

  /// "NCCL_IB_TC=106 (/etc/nccl.conf)".
  std::string in_words() const;
};

/// All that NCCL reads in this process, by name. Of several places the first decides: the environment, the file that
/// NCCL_CONF_FILE names or else ~/.nccl.conf, /etc/nccl.conf. `etc` is where /etc is, `home` the user's folder; "" = as the
/// system has them.
std::vector<NcclSetting> nccl_settings(const std::string& etc = "/etc", const std::string& home = "");
/// That of this process; nothing where it is not set, or is "".
std::optional<NcclSetting> nccl_setting(std::string_view name);
/// The same as a number; nothing where it is none, or negative.
std::optional<unsigned> nccl_number(std::string_view name);

/// How NCCL marks the packets of RDMA and chooses addresses, by its settings.
struct NcclRdma {
  std::optional<unsigned> roce_gid_index, traffic_class, service_level, partition_index;
  std::string words{};  // "NCCL_IB_TC=106 (/etc/nccl.conf), NCCL_IB_SL=1"; "" = not set
};
NcclRdma nccl_rdma();

/// The value of NCCL_IB_HCA or NCCL_SOCKET_IFNAME. "^" takes all but these, "=" before the list wants whole names,
/// "dev:port" one port. Else a name takes all that begin with it.
class NcclList {
 public:
  explicit NcclList(std::string_view text);

  struct Entry {
    std::string name;
    int port = -1;  // any
  };
  /// `port` -1: it has none. An empty list takes everything.
  bool selects(std::string_view name, int port = -1) const;
  bool names(const Entry& entry, std::string_view name, int port = -1) const;

  bool all_but = false, whole = false;
  std::vector<Entry> entries;
};

}  // namespace headrace
