// p2p_fan - one GPU's memory and all others' at once: its rate when all read from it, or write to it.
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/loader.h"
#include "workloads/gpu/filled_memory.h"
#include "workloads/gpu/gated_copies.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/planned.h"

namespace {
using namespace headrace;
using gpu::Route;

constexpr std::array kP2pFanMetrics{
    Metric{"bandwidth", "B/s", Better::higher,
           "Bytes to or from a GPU, of all others together, over device time; the slowest GPU's",
           /*per_device=*/true},
    Metric{
        "share_of_pairs", "ratio", Better::neither,
        "bandwidth over that of one copy alone times the others: 1, where none is in another's way; the least GPU's"},
    gpu::kErrorCount,
};

/// How many bytes/s do all others exchange with one GPU at once, each GPU in turn? Gated as p2p's copies are.
class P2pFan final : public gpu::WatchedGpus {
 public:
  explicit P2pFan(Params& p)
      : size_(
            p.bytes("size", 256_MiB, {.min = 8, .max = static_cast<double>(64_GiB), .multiple_of = 8}, "of one copy")),
        out_(p.choice("pattern", "one_to_all", {"one_to_all", "all_to_one"},
                      "one_to_all: from one GPU's memory to each other's; all_to_one: the other way") == "one_to_all"),
        target_copies_(p.choice("initiator", "source", {"source", "target"},
                                "which GPUs copy: the sources write, or the targets read") == "target"),
        in_flight_(p.count("copies_in_flight", 16, {.min = 1, .max = 256}, "of each pair, queued at once")),
        copies_(p.count("copies", 0, {}, "per repetition and pair; 0 = 4 GiB worth of them, 16 to 1024")),
        by_cores_(gpu::declare_by_cores(p)) {
    if (copies_ == 0) copies_ = std::clamp<std::uint64_t>(4_GiB / size_, 16, 1024);
  }

  static std::span<const Metric> metrics() { return kP2pFanMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (auto skip = gpu::check_gpus(node, 0, 2)) return skip;
    GpuBackend& backend = node.backends().gpu();
    // Its source, and a target for each other GPU.
    if (auto skip = gpu::check_gpus(node, size_ * backend.count())) return skip;
    for (unsigned hub = 0; hub < backend.count(); ++hub)
      if (others_of(backend, hub).empty())
        return Skip{gpu::gpu_name(hub) + " reaches no other GPU's memory without the host"};
    return std::nullopt;
  }
  Footprint footprint() const override {
    using Planned = gpu::PlannedNode;
    // Each GPU with one other, then with all others, which share its links.
    const double own_s = static_cast<double>(size_) * static_cast<double>(copies_) / Planned::peer;
    return gpu::planned({}, Planned::gpus * Planned::gpus * own_s, 2 * size_);
  }
  std::vector<std::string> latency_parts() const override { return {"submit"}; }
  /// Each GPU alone first with one other: what its share is of.
  std::vector<PhaseSpec> phases() const override {
    if (watch_.names().empty()) return {{"main", false}};
    std::vector<PhaseSpec> phases;
    for (const std::string& name : watch_.names()) {
      phases.push_back({name + "_alone", false});
      phases.push_back({name, false});
    }
    return phases;
  }

  void prepare(Node& node, const DataProgress&) override {
    GpuBackend& backend = node.backends().gpu();
    watch_.open(backend);
    hubs_.clear();
    sources_ = {backend, size_};
    for (unsigned hub = 0; hub < backend.count(); ++hub) hubs_.push_back(std::make_unique<Hub>(*this, backend, hub));
  }
  void before_phase(unsigned phase, unsigned, std::uint64_t) override {
    if (phase > 0) return;
    watch_.begin();
    for (auto& hub : hubs_) hub->alone = hub->all = {};
  }
  void before_run(Worker& worker) override {
    Hub& hub = *hubs_[worker.phase / 2];
    for (const Route& route : hub.routes) {
      route.stream->attach();
      route.copy(size_, CopyKind::d2d);
      route.stream->wait();
    }
    hub.routes.front().stream->attach();
  }
  void run(Worker& worker) override {
    Hub& hub = *hubs_[worker.phase / 2];
    const bool alone = worker.phase % 2 == 0;
    const std::span<const Route> routes{hub.routes.data(), alone ? 1 : hub.routes.size()};
    Hub::Sum& sum = alone ? hub.alone : hub.all;
    for (std::uint64_t done = 0; done < copies_ && worker.recorder.running();) {
      const std::uint64_t now = std::min(in_flight_, copies_ - done);
      const std::uint64_t bytes = now * size_ * routes.size();
      const gpu::BatchTimes batch = gpu::gated_batch(routes, size_, CopyKind::d2d, now, {},
                                                     [&worker](std::uint64_t ns) { worker.recorder.part(1, ns); });
      sum.device_s += batch.device_s;
      sum.bytes += static_cast<double>(bytes);
      worker.recorder.op(batch.opened_ns, batch.ended_ns, bytes);
      done += now;
    }
  }

  void report(const Repetition&, MetricSink& sink) const override {
    double slowest = INFINITY, share = INFINITY;
    for (std::size_t i = 0; i < hubs_.size(); ++i) {
      const Hub& hub = *hubs_[i];
      if (hub.all.device_s <= 0 || hub.alone.device_s <= 0) return;  // stopped before this GPU had its turn
      sink.put(device_metric("bandwidth", watch_.names()[i]), hub.all.rate());
      slowest = std::min(slowest, hub.all.rate());
      share = std::min(share, hub.all.rate() / (hub.alone.rate() * static_cast<double>(hub.routes.size())));
    }
    sink.put("bandwidth", slowest);
    sink.put("share_of_pairs", share);
    watch_.put_errors(sink);
  }
  std::vector<WrongBlock> verify(const DataProgress&) override {
    std::vector<WrongBlock> wrong;
    for (const auto& hub : hubs_)
      for (const Hub::Copied& copied : hub->copied)
        sources_.check(copied.from, copied.to, copied.at->begin(), copied.name, wrong);
    return wrong;
  }
  std::vector<std::string> notes() override { return watch_.notes(); }
  void cleanup(Node&) override {
    hubs_.clear();
    sources_ = {};
  }

 private:
  /// One GPU and all others, with buffers for each of them.
  struct Hub {
    struct Sum {
      double device_s = 0, bytes = 0;
      double rate() const { return bytes / device_s; }
    };
    Hub(P2pFan& owner, GpuBackend& backend, unsigned hub) {
      for (const unsigned other : owner.others_of(backend, hub)) {
        const unsigned from = owner.out_ ? hub : other, to = owner.out_ ? other : hub;
        Gpu &source = backend.gpu(from), &target = backend.gpu(to);
        copied.push_back({from, to, target.allocate(owner.size_), gpu::gpu_name(from) + "_" + gpu::gpu_name(to)});
        streams.push_back((owner.target_copies_ ? target : source).stream());
        routes.push_back({streams.back().get(), copied.back().at->begin(), owner.sources_.of(from), owner.by_cores_});
      }
    }
    struct Copied {
      unsigned from, to;
      std::unique_ptr<GpuMemory> at;
      std::string name;
    };
    std::vector<Copied> copied;
    std::vector<std::unique_ptr<GpuStream>> streams;  // go before the memory
    std::vector<Route> routes;
    Sum alone, all;
  };

  std::vector<unsigned> others_of(GpuBackend& backend, unsigned hub) const {
    std::vector<unsigned> others;
    for (unsigned other = 0; other < backend.count(); ++other) {
      const unsigned copies = out_ == target_copies_ ? other : hub, answers = copies == hub ? other : hub;
      if (other != hub && backend.gpu(copies).reaches(backend.gpu(answers))) others.push_back(other);
    }
    return others;
  }

  std::uint64_t size_;
  bool out_, target_copies_;
  std::uint64_t in_flight_, copies_;
  bool by_cores_;
  gpu::SourceMemory sources_;
  std::vector<std::unique_ptr<Hub>> hubs_;
};

const Register<P2pFan> registered_p2p_fan{
    "p2p_fan", "one GPU's memory and all others' at once: from one to all, or from all to one"};
}  // namespace
