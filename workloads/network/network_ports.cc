// network_ports - how many network ports a job has on each node: read, not measured.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "harness/machine/network/network_ports.h"
#include "harness/record/ranks/ranks.h"
#include "harness/workload/workload.h"

namespace {
using namespace headrace;
using nlohmann::json;

constexpr std::array kNetworkPortsMetrics{
    Metric{"nics", "count", Better::higher,
           "Ports that are up and run at nic_rate or more; of several nodes the fewest"},
};

/// How many ports of each node can carry the job's traffic?
///
/// RDMA ports where there are any, else Ethernet interfaces, and each plug once. A port that does
/// not report its rate may be anything: then nothing is reported.
class NetworkPorts final : public Workload, public ReportsFacts {
 public:
  explicit NetworkPorts(Params& p)
      : rate_(p.bandwidth("nic_rate", 0, {.min = 0, .max = 1e15},
                          "from which on a port counts; 0: as fast as the fastest that is up")) {}

  static std::span<const Metric> metrics() { return kNetworkPortsMetrics; }
  static constexpr WorkloadTraits kTraits{.deterministic = true, .across_ranks = AcrossRanks::first};

  void prepare(Node& node, const DataProgress&) override {
    own_ = network_ports();
    json ports = json::array();
    for (const NetworkPort& p : own_) ports.push_back({p.name, p.rdma, p.up, p.rate});
    const std::vector<unsigned>& team = node.team();
    const auto said = node.ranks().gather("network ports", team, ports.dump(), kWords_s);
    std::vector<NodePorts> nodes;
    for (std::size_t i = 0; i < said.size(); ++i) {
      NodePorts& one = nodes.emplace_back(NodePorts{node.ranks().host(team[i]), {}});
      for (const json& p : json::parse(said[i])) one.ports.push_back({p[0], p[1], p[2], p[3]});
    }
    count_ = count_ports(nodes, rate_);
  }
  void run(Worker&) override {}
  void report(const Repetition&, MetricSink& sink) const override {
    if (count_.unknown.empty()) sink.put("nics", count_.fewest);
  }
  std::string why_missing(std::string_view) const override { return count_.unknown; }
  std::vector<std::string> notes() override {
    if (!count_.unknown.empty()) return {"not known: " + count_.unknown};
    if (!count_.do_not_count.empty()) return {"do not count: " + count_.do_not_count};
    return {};
  }
  Facts facts() override {
    std::string all;
    for (const NetworkPort& port : own_)
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", port.name,
                         !port.up         ? "down"
                         : port.rate == 0 ? "at an unknown rate"
                                          : fmt::format("at {:g} Gbit/s", port.rate * 8e-9));
    return {{"ports", all}};
  }

 private:
  static constexpr double kWords_s = 60;

  const double rate_;
  std::vector<NetworkPort> own_;
  PortCount count_;
};

const Register<NetworkPorts> registered_network_ports{"network_ports",
                                                      "network ports that are up and as fast as a job expects"};

}  // namespace
