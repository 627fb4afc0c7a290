// The hosts of a cluster, and what is known of where each is.
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
  std::map<std::string, std::string> others{};  // "pdu": whatever else may be shared
  std::string rdma{};                           // devices, as rdma_rails() reads them; "": any of its fabric; kNoRdma
  std::string user{};  // whom a launcher logs in as, which schedulers know nothing of; "" = as it does

  /// As a launcher is reported: "root@node01".
  std::string login() const { return user.empty() ? name : user + "@" + name; }

  /// What it may share with others: rack, switch and the rest.
  std::map<std::string, std::string> attributes() const;
};

/// A host per line, or a list as Slurm writes it ("node[001-004,7],gpu1"); '#' begins a comment. Lines that are alike are one
/// host. What MPI's hostfiles say of slots is read over, and so are a byte order mark and the line ends of Windows. Throws UsageErrors with every problem: "hosts.txt:3:14: ...".
/// Where there is no such file, `path` may be such a list.
std::vector<Host> read_hosts(const std::string& path);
/// The same of a text; `path` is what the problems name.
std::vector<Host> hosts_from(std::string_view text, const std::string& path);

/// An IP address.
bool is_address(const std::string& name);
/// The names of "node[1,3],gpu7"; of what is no list itself.
std::vector<std::string> names_in(const std::string& list);
/// Which of `hosts` is meant by `name`: that name, else the only one of which this is the first label, or the other way round
/// ("gpu01" and "gpu01.cluster.example"). Nothing where none is, or several are.
std::optional<std::size_t> host_named(const std::vector<std::string>& hosts, const std::string& name);

/// Takes "root@node01" apart. Why it can be neither a host's name nor a login, which go into commands, of headrace's launcher
/// and of schedulers; "" where it can.
std::string set_login(Host& host, std::string_view login);

}  // namespace headrace
