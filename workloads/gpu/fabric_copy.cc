// fabric_copy - each GPU writes into the memory of a GPU of the next node and reads it back. The path is the NVLink
// fabric that joins nodes (MNNVL). Is it as fast as promised, and unchanged?
#include <fmt/format.h>

#include <array>

#include "harness/backends/loader.h"
#include "harness/record/ranks/wire.h"
#include "harness/workload/ranks/team.h"
#include "workloads/gpu/gated_copies.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/planned.h"

namespace {
using namespace headrace;

constexpr std::array kFabricCopyMetrics{
    Metric{"bandwidth", "B/s", Better::higher, "Bytes written over device time while all GPUs write, the slowest GPU's",
           /*per_device=*/true},
    Metric{"wrong_elements", "count", Better::lower, "Words of 8 bytes that did not come back as written; of all GPUs",
           /*per_device=*/true},
    gpu::kErrorCount,
};

/// What does the fabric between GPUs of several nodes carry? GPU i of a process writes into memory of GPU i of the next
/// process. That one shares it by a handle of the fabric. Of one process alone, into that of its next GPU. What came is
/// copied back and compared on the GPU.
class FabricCopy final : public gpu::WatchedGpus {
 public:
  static constexpr WorkloadTraits kTraits{.one_per_node = true, .across_ranks = AcrossRanks::slowest};
  explicit FabricCopy(Params& p)
      : size_(
            p.bytes("size", 256_MiB, {.min = 8, .max = static_cast<double>(16_GiB), .multiple_of = 8}, "of one copy")),
        copies_(p.count("copies", 256, {.min = 1, .max = 1e6}, "per repetition and GPU")) {}

  static std::span<const Metric> metrics() { return kFabricCopyMetrics; }
  std::optional<Skip> check(Node& node) override {
    ranks::Team team(node.ranks(), node.team());
    try {
      in_concert(team, "what each node has", kWords_s, [&] {
        if (const auto skip = check_here(node, team.size())) throw Unsupported(skip->reason);
        return std::string();
      });
    } catch (const Unsupported& e) {
      return Skip{e.what()};
    }
    return std::nullopt;
  }
  Footprint footprint() const override {
    return gpu::planned({}, static_cast<double>(size_ * copies_) / gpu::PlannedNode::peer, 0);
  }
  unsigned workers() const override { return std::max<unsigned>(1, static_cast<unsigned>(lanes_.size())); }

  void prepare(Node& node, const DataProgress&) override {
    GpuBackend& backend = node.backends().gpu();
    ranks::Team team(node.ranks(), node.team());
    watch_.open(backend);
    notes_.clear();
    const auto said = in_concert(team, "share memory", kWords_s, [&] {
      wire::Writer own;
      own.put(backend.count());
      for (unsigned i = 0; i < backend.count(); ++i) {
        const bool works = gpu::unless_lost(
            backend.gpu(i), [&] { lanes_.push_back(std::make_unique<Lane>(backend.gpu(i), i, size_)); });
        own.put(works ? std::string(lanes_.back()->handle.begin(), lanes_.back()->handle.end()) : std::string());
        own.put(backend.gpu(i).facts().fabric_group);
      }
      return own.bytes();
    });
    const unsigned next = (team.rank() + 1) % team.size();
    in_concert(team, "map memory", kWords_s, [&] {
      wire::Reader theirs(said[next]);
      std::vector<std::string> handles;
      if (const auto count = theirs.get<unsigned>(); count != backend.count())
        throw Unsupported(fmt::format("{} has {} GPUs, and {} has {}", team.host(next), count, team.host(team.rank()),
                                      backend.count()));
      for (unsigned i = 0; i < backend.count(); ++i) {
        std::string handle, group;
        theirs.get(handle);
        theirs.get(group);
        if (group != backend.gpu(i).facts().fabric_group)
          throw Unsupported(fmt::format("GPUs of {} are in another fabric or clique than those of {}", team.host(next),
                                        team.host(team.rank())));
        handles.push_back(std::move(handle));
      }
      const unsigned shift = team.size() == 1 ? 1 : 0;
      for (auto& lane : lanes_)
        gpu::unless_lost(lane->gpu, [&] { lane->map(handles[(lane->index + shift) % handles.size()], size_); });
      return std::string();
    });
    if (lanes_.empty()) throw RunError("the driver has lost the GPUs");
    if (team.size() > 1 && team.rank() == 0)
      notes_.push_back(fmt::format("GPUs of {} nodes, each to the next node", team.size()));
  }
  void before_phase(unsigned, unsigned, std::uint64_t seed) override {
    watch_.begin();
    for (auto& lane : lanes_) {
      lane->device_s = 0;
      lane->wrong_before = lane->found().count;
      lane->pattern = {GpuPattern::Kind::random, seed ^ (std::uint64_t{lane->index} << 48)};
    }
  }
  void before_run(Worker& worker) override {
    Lane& lane = *lanes_[worker.index];
    if (!lane.target) return;
    gpu::unless_lost(lane.gpu, [&] {
      lane.stream->attach();
      lane.stream->fill(lane.source->begin(), size_, lane.pattern);
      lane.stream->copy(lane.target->begin(), lane.source->begin(), size_, CopyKind::d2d);
      lane.stream->wait();
    });
  }
  void run(Worker& worker) override {
    Lane& lane = *lanes_[worker.index];
    if (!lane.target) return;
    gpu::unless_lost(lane.gpu, [&] {
      const gpu::Route route{lane.stream.get(), lane.target->begin(), lane.source->begin()};
      for (std::uint64_t done = 0; done < copies_ && worker.recorder.running();) {
        constexpr std::uint64_t kAtOnce = 16;
        const std::uint64_t now = std::min(kAtOnce, copies_ - done);
        const gpu::BatchTimes batch = gpu::gated_batch(std::span<const gpu::Route>(&route, 1), size_, CopyKind::d2d,
                                                       now, {}, [](std::uint64_t) {});
        lane.device_s += batch.device_s;
        lane.bytes = size_ * (done += now);
        worker.recorder.op(batch.opened_ns, batch.ended_ns, now * size_);
      }
      // The inverse stays where it came, so that what comes next is known to be new.
      lane.stream->copy(lane.back->begin(), lane.target->begin(), size_, CopyKind::d2d);
      lane.stream->check_and_fill(lane.back->begin(), size_, lane.pattern, {lane.pattern.kind, ~lane.pattern.flip},
                                  lane.found());
      lane.stream->wait();
    });
  }
  std::vector<PartFault> faults() override {
    std::vector<PartFault> all = watch_.faults();
    for (const auto& lane : lanes_)
      if (const auto wrong = lane->wrong(); wrong > 0)
        all.push_back({gpu::gpu_name(lane->index), "wrong_elements", static_cast<double>(wrong),
                       fmt::format("{} words did not come back over NVLink as they were written", wrong)});
    return all;
  }
  void report(const Repetition&, MetricSink& sink) const override {
    double slowest = 0, wrong = 0;
    for (const auto& lane : lanes_) {
      if (!lane->works()) continue;
      if (lane->device_s <= 0) return;
      const std::string name = gpu::gpu_name(lane->index);
      const double rate = static_cast<double>(lane->bytes) / lane->device_s;
      sink.put(device_metric("bandwidth", name), rate);
      sink.put(device_metric("wrong_elements", name), static_cast<double>(lane->wrong()));
      if (slowest == 0 || rate < slowest) slowest = rate;
      wrong += static_cast<double>(lane->wrong());
    }
    if (slowest == 0) throw RunError("the driver has lost the GPUs");
    sink.put("bandwidth", slowest);
    sink.put("wrong_elements", wrong);
    watch_.put_errors(sink, true);
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> all = notes_;
    for (std::string& note : watch_.notes()) all.push_back(std::move(note));
    return all;
  }
  void cleanup(Node&) override { lanes_.clear(); }

 private:
  static constexpr double kWords_s = 60;

  struct Lane {
    Lane(Gpu& own, unsigned number, std::uint64_t size)
        : gpu(own),
          index(number),
          shared(gpu.share(size, handle)),
          source(gpu.allocate(size)),
          back(gpu.allocate(size)),
          counted(gpu.pinned(sizeof(GpuWrongWords), false)),
          stream(gpu.stream()) {
      if (!shared) throw Unsupported("this driver shares no memory with other nodes");
      new (counted->begin()) GpuWrongWords;
    }
    /// `bytes_of_handle`: "" of a GPU that is lost.
    void map(const std::string& bytes_of_handle, std::uint64_t size) {
      GpuFabricHandle of{};
      if (bytes_of_handle.size() != of.size()) return;
      std::copy(bytes_of_handle.begin(), bytes_of_handle.end(), of.begin());
      target = gpu.map(of, size);
      if (!target) throw Unsupported("this driver maps no memory of other nodes");
    }
    bool works() const { return target && gpu.lost().empty(); }
    GpuWrongWords& found() const { return *reinterpret_cast<GpuWrongWords*>(counted->begin()); }
    std::uint64_t wrong() const { return found().count - wrong_before; }

    Gpu& gpu;
    unsigned index;
    GpuFabricHandle handle{};
    std::unique_ptr<GpuMemory> shared, target, source, back, counted;
    std::unique_ptr<GpuStream> stream;  // goes first
    GpuPattern pattern;
    std::uint64_t bytes = 0, wrong_before = 0;
    double device_s = 0;
  };

  std::optional<Skip> check_here(Node& node, unsigned nodes) const {
    if (auto skip = gpu::check_gpus(node, 3 * size_)) return skip;
    GpuBackend& backend = node.backends().gpu();
    for (unsigned i = 0; i < backend.count(); ++i) {
      const GpuFacts& facts = backend.gpu(i).facts();
      if (!facts.fabric.empty())
        return Skip{fmt::format("{}: the switches between GPUs: {}", gpu::gpu_name(i), facts.fabric)};
      if (facts.fabric_group.empty())
        return Skip{gpu::gpu_name(i) + " is in no NVLink fabric of several nodes, as its driver reports"};
    }
    if (nodes == 1 && backend.count() < 2) return Skip{"one GPU alone: needs two, or several nodes (mpirun)"};
    return std::nullopt;
  }

  const std::uint64_t size_, copies_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::string> notes_;
};

const Register<FabricCopy> registered_fabric_copy{
    "fabric_copy",
    "GPUs write into memory of GPUs of the next node, by an NVLink fabric of several nodes, and read it back"};
}  // namespace
