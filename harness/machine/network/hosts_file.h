// The hosts of a cluster, and their known places.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// Instead of RDMA devices: it is to use none.
inline constexpr const char* kNoRdma = "none";

/// One line of a hosts file: "root@node01 slots=8 rack=r1 switch=s1 rail=eth1,eth2 rdma=mlx5_0,mlx5_1 pdu=p4".
struct Host {
  std::string name, rack, leaf_switch;
  std::vector<std::string> rails;               // its network interface of each rail; none: whichever leads there
  std::map<std::string, std::string> others{};  // "pdu": any other shared part
  std::string rdma{};                           // devices, as rdma_rails() reads them; "": any of its fabric; kNoRdma
  std::string user{};  // the launcher's login user, which schedulers do not use; "" = its default

  /// As a launcher is reported: "root@node01".
  std::string login() const { return user.empty() ? name : user + "@" + name; }

  /// What it may share with others: rack, switch and the rest.
  std::map<std::string, std::string> attributes() const;
};

/// A host per line, or a list as Slurm writes it ("node[001-004,7],gpu1"); '#' begins a comment. Lines that are alike
/// are one host. Slots of MPI's hostfiles are ignored, and so are a byte order mark and the line ends of Windows.
/// Throws UsageErrors with every problem: "hosts.txt:3:14: ...". Without such a file, `path` may be a list.
std::vector<Host> read_hosts(const std::string& path);
/// The same of a text; `path` is what the problems name.
std::vector<Host> hosts_from(std::string_view text, const std::string& path);

/// An IP address.
bool is_address(const std::string& name);
/// The names of "node[1,3],gpu7"; of another text itself.
std::vector<std::string> names_in(const std::string& list);
/// Names are equal in capitals and with a final dot, too.
bool is_same_host(const std::string& a, const std::string& b);
/// Which of `hosts` `name` means: that name, also in other capitals. Else the only one with the same first label
/// ("gpu01" and "gpu01.cluster.example"). Nothing where none is, or several are.
std::optional<std::size_t> host_named(const std::vector<std::string>& hosts, const std::string& name);

/// Takes "root@node01" apart. Why it can be neither a host's name nor a login. These go into commands of headrace's
/// launcher and of schedulers. "" where it can.
std::string set_login(Host& host, std::string_view login);

}  // namespace headrace
