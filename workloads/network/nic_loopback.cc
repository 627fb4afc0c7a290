// nic_loopback - each RDMA port of this node writes to itself, with no other node. Does its card carry data right, and
// as fast as its sisters? TCP has no such test: the kernel keeps packets to an own address from the card.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/backends/loader.h"
#include "harness/base/median.h"
#include "harness/machine/network/nccl_settings.h"
#include "harness/machine/network/rdma_place.h"
#include "harness/machine/network/rdma_rails.h"
#include "harness/machine/numa.h"
#include "harness/workload/workload.h"
#include "workloads/network/port_lines.h"
#include "workloads/network/rdma_link.h"

namespace {
using namespace headrace;

constexpr std::array kNicLoopbackMetrics{
    Metric{"bandwidth", "B/s", Better::higher,
           "Payload of all messages over the time from the first post to the last completion, the slowest port's",
           /*per_device=*/true, /*of_a_line=*/true},
    Metric{"pace", "ratio", Better::higher,
           "bandwidth over the median of ports of the same line rate, the slowest port's",
           /*per_device=*/true},
    Metric{"promised_share", "ratio", Better::higher,
           "bandwidth over the slower of the port's line and its card's PCI Express link, the port with the least",
           /*per_device=*/true},
    Metric{"wrong_messages", "count", Better::lower, "Ports whose data did not come as it was sent",
           /*per_device=*/true},
};

/// Does each port's card move data right, and as fast as the others?
///A queue pair of the port is connected to itself, as NCCL does to flush its writes. Each message is read from memory
///over PCI Express, goes through the card, and is written back.
class NicLoopback final : public Workload, public UsesDevices {
 public:
  static constexpr WorkloadTraits kTraits{.one_per_node = true};
  explicit NicLoopback(Params& p)
      : traffic_(p, RdmaOp::write),
        device_(
            p.text("device", "", "RDMA devices, as NCCL_IB_HCA names them: mlx5_0,mlx5_3:1. Default: all that are up")),
        on_gpu_(p.choice("memory", "host", {"host", "gpu"},
                         "that messages are in; gpu: of the one nearest to the port") == "gpu") {
    if (traffic_.latency) p.conflict("measure", "of a port alone there is bandwidth");
    if (traffic_.direction != network::RdmaTraffic::Direction::one_way) p.conflict("direction", "a port alone has one");
    if (traffic_.transport != RdmaTransport::reliable) p.conflict("transport", "a port alone wants rc");
  }

  static std::span<const Metric> metrics() { return kNicLoopbackMetrics; }
  std::optional<Skip> check(Node& node) override {
    for (const Gives backend : {Gives::rdma, Gives::gpus})
      if (std::string why = node.backends().why_not(backend); !why.empty() && (backend == Gives::rdma || on_gpu_))
        return Skip{std::move(why)};
    try {
      ports(node.backends().rdma());
    } catch (const Unsupported& e) {
      return Skip{e.what()};
    }
    return std::nullopt;
  }
  Footprint footprint() const override {
    constexpr unsigned kPorts = 8;
    Footprint f;
    f.memory_bytes = 2 * traffic_.slots() * traffic_.size * kPorts;
    f.repetition_s = kPorts * (traffic_.time_s + 0.05);
    return f;
  }
  std::vector<PhaseSpec> phases() const override {
    std::vector<PhaseSpec> phases;
    for (const std::string& name : names_) phases.push_back({name, false});
    return phases.empty() ? Workload::phases() : phases;
  }
  std::vector<std::string> devices() const override { return names_; }

  void prepare(Node& node, const DataProgress&) override {
    RdmaBackend& rdma = node.backends().rdma();
    names_.clear();
    left_out_.clear();
    const std::vector<const RdmaPort*> all = ports(rdma);
    const network::PortLines lines = network::lines_of(all);
    traffic_.use_all(lines.most_paths());
    std::vector<std::string> before;
    for (std::size_t i = 0; i < all.size(); ++i) {
      before.push_back(all[i]->pci_address);
      lanes_.push_back(std::make_unique<Lane>(*this, node, rdma, *all[i], lines.ports[i], before));
    }
    for (const auto& lane : lanes_) names_.push_back(lane->name);
    for (const RdmaPort& port : rdma.ports())
      if (device_.empty() && !port.active) left_out_.push_back(port.name() + " is not tested: " + port.state);
  }
  void before_phase(unsigned phase, unsigned, std::uint64_t seed) override {
    Lane& lane = *lanes_[phase];
    lane.key = seed + phase * 0x9e3779b97f4a7c15u;
    lane.wrong.clear();
    lane.area->fill(lane.key);
    if (lane.failed.empty()) lane.link->make_ready(/*leads=*/true);
  }
  void before_run(Worker& worker) override { run_on(lanes_[worker.phase]->numa); }
  void run(Worker& worker) override {
    Lane& lane = *lanes_[worker.phase];
    if (!lane.failed.empty()) return;
    try {
      lane.link->move(worker.recorder);
    } catch (const network::LinkError& e) {
      lane.failed = e.what();
    }
  }
  std::vector<PartFault> faults() override {
    std::vector<PartFault> all;
    const bool any_works = std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->rate() > 0; });
    for (const auto& lane : lanes_) {
      if (!lane->failed.empty() && any_works) all.push_back({lane->port.name(), "port_failed", 1, lane->failed});
      if (lane->failed.empty() && lane->rate() > 0) lane->link->check(lane->link->moved(), lane->key, lane->wrong);
      for (const WrongBlock& one : lane->wrong)
        all.push_back({lane->port.name(), "wrong_messages", 1,
                       fmt::format("{} differs from the sent data, from offset {} on", one.file, one.offset)});
    }
    return all;
  }
  void report(const Repetition&, MetricSink& sink) const override {
    std::map<double, std::vector<double>> rates;  // by the line's
    for (const auto& lane : lanes_)
      if (lane->rate() > 0) rates[lane->line.rate].push_back(lane->rate());
    if (rates.empty()) throw RunError(lanes_.front()->failed);
    std::map<const char*, double> worst;
    const auto put = [&](const char* metric, const Lane& lane, double value) {
      sink.put(device_metric(metric, lane.name), value);
      const auto [at, is_new] = worst.emplace(metric, value);
      if (!is_new) at->second = std::min(at->second, value);
    };
    double wrong = 0;
    for (const auto& lane : lanes_) {
      if (lane->rate() <= 0) continue;
      put("bandwidth", *lane, lane->rate());
      put("pace", *lane, lane->rate() / statistics::median(rates[lane->line.rate]));
      if (lane->line.promised() > 0) put("promised_share", *lane, lane->rate() / lane->line.promised());
      sink.put(device_metric("wrong_messages", lane->name), lane->wrong.empty() ? 0 : 1);
      wrong += lane->wrong.empty() ? 0 : 1;
    }
    for (const auto& [metric, value] : worst) sink.put(metric, value);
    sink.put("wrong_messages", wrong);
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> all = left_out_;
    for (const auto& lane : lanes_) all.push_back(lane->place.words + "; buffers " + lane->area->placement());
    return all;
  }
  void cleanup(Node&) override { lanes_.clear(); }

 private:
  /// One port.
  struct Lane {
    Lane(const NicLoopback& owner, Node& node, RdmaBackend& rdma, const RdmaPort& of, const network::PortLine& of_port,
         const std::vector<std::string>& ports_before)
        : port(of), name(of.name()), line(of_port), size(static_cast<double>(owner.traffic_.size)) {
      std::replace(name.begin(), name.end(), '/', '_');
      const NcclRdma nccl = nccl_rdma();
      place = choose_rdma_place(rdma.ports(),
                                {.device = of.device, .port = of.number, .roce_gid_index = nccl.roce_gid_index});
      std::string ignored;
      numa = choose_numa_node(NumaChoice::local, of.numa_node, owner.nodes_, ignored);
      Gpu* gpu = nullptr;
      std::size_t number = 0;
      if (owner.on_gpu_) {
        GpuBackend& gpus = node.backends().gpu();
        std::vector<std::string> addresses;
        for (unsigned i = 0; i < gpus.count(); ++i) addresses.push_back(gpus.gpu(i).facts().pci_address);
        gpu = &gpus.gpu(static_cast<unsigned>(number = nearest_gpu(ports_before, addresses)));
      }
      const network::RdmaTraffic& traffic = owner.traffic_;
      area = std::make_unique<network::RdmaArea>(static_cast<std::uint32_t>(traffic.slots()), traffic.size,
                                                 /*huge_pages=*/true, numa, gpu, static_cast<unsigned>(number));
      const bool inlined = gpu == nullptr && traffic.size <= traffic.inline_size;
      endpoint = rdma.open(port, {.gid_index = place.gid_index,
                                  .queue_pairs = traffic.queue_pairs,
                                  .tx_depth = traffic.tx_depth,
                                  .inline_size = inlined ? static_cast<unsigned>(traffic.size) : 0,
                                  .traffic_class = nccl.traffic_class.value_or(0),
                                  .service_level = nccl.service_level.value_or(0),
                                  .partition_index = nccl.partition_index.value_or(place.partition_index),
                                  .relaxed_ordering = true});
      area->enroll(*endpoint);
      Ranks& ranks = node.ranks();
      link =
          std::make_unique<network::RdmaLink>(traffic, ranks, *endpoint, *area, ranks.rank(), 0, inlined, kPatience_s);
      try {
        link->connect({endpoint->address(), area->address(), area->length(), area->remote_key()}, 0);
      } catch (const network::LinkError& e) {
        failed = e.what();
      }
    }
    double rate() const { return failed.empty() ? link->moved().per_s() * size : 0; }

    static constexpr double kPatience_s = 10;
    const RdmaPort& port;
    std::string name, failed;
    network::PortLine line;
    RdmaPlace place;
    const NumaNode* numa = nullptr;
    std::unique_ptr<RdmaEndpoint> endpoint;
    std::unique_ptr<network::RdmaArea> area;
    std::unique_ptr<network::RdmaLink> link;  // goes before both
    double size;                              // of a message [B]
    std::uint64_t key = 0;
    std::vector<WrongBlock> wrong;
  };

  /// Throws Unsupported where there is none.
  std::vector<const RdmaPort*> ports(RdmaBackend& rdma) const {
    std::vector<const RdmaPort*> all;
    if (!device_.empty()) {
      all = rdma_rails(rdma.ports(), device_, 0).ports;
    } else {
      for (const RdmaPort& port : rdma.ports()) all.push_back(&port);
    }
    std::string why = "no RDMA port is up";
    std::erase_if(all, [&](const RdmaPort* port) {
      if (port->active && !port->unusable.empty()) why = port->name() + ": " + port->unusable;
      return !port->active || !port->unusable.empty();
    });
    if (all.empty()) throw Unsupported(why);
    return all;
  }

  network::RdmaTraffic traffic_;
  const std::string device_;
  const bool on_gpu_;
  const std::vector<NumaNode> nodes_ = numa_nodes();
  std::vector<std::string> names_, left_out_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

const Register<NicLoopback> registered_nic_loopback{
    "nic_loopback",
    "each RDMA port writes to itself through its card: whether data is right, and as fast as its sisters"};

}  // namespace
