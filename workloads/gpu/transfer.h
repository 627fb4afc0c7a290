// Copies between host and GPU over the link, one direction: what h2d and d2h share.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/loader.h"
#include "workloads/gpu/gated_copies.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/gpu/gpus.h"
#include "workloads/gpu/host_area.h"
#include "workloads/gpu/planned.h"
#include "workloads/pattern.h"

namespace headrace::gpu {

/// How many bytes/s does a copy between host memory of a kind and a GPU give? Pinned kinds: batches of copies_in_flight
/// copies on each stream, held back by a gate until all are queued. Timed by the device's clock from the gate's opening
/// to the last copy's end, as nvbandwidth does. One thread per GPU. Pageable: the driver stages such a copy and makes
/// it wait for everything queued before. A gate would block itself. Each is timed by the host's clock together with the
/// wait for its end. One thread per stream, because a processor copies every byte.
class Transfer : public WatchedGpus {
 public:
  static std::span<const Metric> metrics() {
    static constexpr std::array kMetrics{
        Metric{"bandwidth", "B/s", Better::higher,
               "Bytes of a GPU over its copies' time, the slowest GPU's; pinned: device time, "
               "pageable: until arrived",
               /*per_device=*/true},
        Metric{"node_bandwidth", "B/s", Better::higher,
               "All GPUs at once: bytes of all over the time of the one that took longest"},
        Metric{"host_bandwidth", "B/s", Better::higher,
               "The same bytes by the host's clock, until it knew that they had arrived; the "
               "slowest GPU's"},
        Metric{"copy_rate", "1/s", Better::higher, "Copies per second and GPU, the slowest GPU's"},
        Metric{"copy_time_s", "s", Better::lower, "Time per copy of a stream, the slowest GPU's"},
        Metric{"link_share", "ratio", Better::higher, "bandwidth over link_bandwidth, the least of the GPUs'"},
        kLinkBandwidth,
        kLinkEffective,
        kLinkTrained,
        Metric{"pageable_serial_bandwidth", "B/s", Better::neither,
               "Formula B8: pageable, if staging and transfer took turns; of memcpy_bandwidth and "
               "pinned_bandwidth"},
        Metric{"pageable_pipelined_bandwidth", "B/s", Better::neither,
               "Formula B9: pageable, if staging ran during the transfer"},
        Metric{"memcpy_bandwidth", "B/s", Better::higher, "What one thread copies from such a buffer to another"},
        Metric{"pinned_bandwidth", "B/s", Better::higher, "What the same copies give from pinned memory"},
        kErrorCount,
    };
    return kMetrics;
  }

  std::optional<Skip> check(Node& node) override {
    if (auto skip = check_gpus(node, streams_ * size_ * (both_ ? 2 : 1))) return skip;
    return placement_.check(node);
  }
  Footprint footprint() const override {
    using Planned = PlannedNode;
    Footprint f;
    f.memory_bytes = streams_ * size_ * (both_ ? 2 : 1);
    const auto copies = static_cast<double>((copies_ + kWarmUps) * streams_);
    const double rate =
        memory_ != HostMemory::pageable ? Planned::link : std::min(Planned::link, streams_ * Planned::pageable);
    const double own_s = copies * (static_cast<double>(size_) / rate + Planned::call_s) * (both_ ? 2 : 1);
    // All at once are in each other's way, but not as if they took turns.
    return planned(f, own_s * (all_ ? 2 : Planned::gpus), f.memory_bytes);
  }
  unsigned workers() const override {
    const unsigned gpus = all_ ? std::max<unsigned>(1, static_cast<unsigned>(lanes_.size())) : 1;
    return gpus * threads_per_gpu();
  }
  std::vector<std::string> latency_parts() const override { return {"submit"}; }
  std::vector<PhaseSpec> phases() const override {
    if (all_ || lanes_.empty()) return {{"main", false}};
    std::vector<PhaseSpec> phases;
    for (const auto& lane : lanes_) phases.push_back({watch_.names()[lane->index], false});
    return phases;
  }

  void prepare(Node& node, const DataProgress&) override {
    GpuBackend& backend = node.backends().gpu();
    notes_.clear();
    watch_.open(backend);
    for (unsigned i = 0; i < backend.count(); ++i) {
      const NumaNode* place = placement_.node_of(i, backend.gpu(i).facts(), notes_);
      unless_lost(backend.gpu(i), [&] {
        lanes_.push_back(std::make_unique<Lane>(*this, backend.gpu(i), i, place));
        note_placement(*lanes_.back(), i);
      });
    }
    if (lanes_.empty()) throw RunError("the driver has lost the GPUs");
    if (memory_ == HostMemory::pageable && streams_ == 1) calibrate();
  }
  void before_phase(unsigned phase, unsigned, std::uint64_t) override {
    if (phase > 0) return;
    watch_.begin();
    for (auto& lane : lanes_) std::fill(lane->times.begin(), lane->times.end(), Times{});
  }
  /// Warms up, and looks at the link while it works.
  void before_run(Worker& worker) override {
    Lane& lane = lane_of(worker);
    run_on(lane.place);
    unless_lost(lane.gpu, [&] {
      const std::span<const Route> mine = routes_of(lane, worker);
      for (const Route& route : mine) route.stream->attach();
      for (const Route& route : mine) {
        for (unsigned i = 0; i < kWarmUps; ++i) route.stream->copy(route.to, route.from, size_, kind_);
      }
      if (worker.index % threads_per_gpu() == 0) watch_.under_load(lane.index);
      for (const Route& route : mine) route.stream->wait();
    });
  }
  void run(Worker& worker) override {
    Lane& lane = lane_of(worker);
    Times& times = lane.times[worker.index % threads_per_gpu()];
    unless_lost(lane.gpu, [&] {
      if (memory_ == HostMemory::pageable)
        run_waiting(routes_of(lane, worker).front(), times, worker.recorder);
      else
        run_gated(lane, times, worker.recorder);
    });
  }
  std::string why_missing(std::string_view metric) const override { return watch_.why_missing(metric); }

  void report(const Repetition&, MetricSink& sink) const override {
    double slowest = 0, longest = 0, host = 0, bytes = 0, share = 0;
    std::uint64_t copies = 0;
    for (const auto& lane : lanes_) {
      if (!lane->gpu.lost().empty()) continue;
      const Times sum = lane->sum(memory_ == HostMemory::pageable);
      if (sum.bytes == 0 || sum.device_s <= 0) return;  // stopped before this GPU had its turn
      const double rate = static_cast<double>(sum.bytes) / sum.device_s;
      const double raw = link_raw_bandwidth(lane->gpu.facts(), watch_.link(lane->index));
      sink.put(device_metric("bandwidth", watch_.names()[lane->index]), rate);
      if (slowest == 0 || rate < slowest) {
        slowest = rate;
        copies = sum.bytes / size_;
        longest = sum.device_s;
        host = static_cast<double>(sum.bytes) / sum.host_s;
      }
      if (raw > 0 && (share == 0 || rate / raw < share)) share = rate / raw;
      bytes += static_cast<double>(sum.bytes);
    }
    if (slowest == 0) throw RunError("the driver has lost the GPUs");
    sink.put("bandwidth", slowest);
    if (all_ || lanes_.size() == 1) sink.put("node_bandwidth", bytes / longest_of_all());
    sink.put("host_bandwidth", host);
    sink.put("copy_rate", static_cast<double>(copies) / longest);
    sink.put("copy_time_s", longest * streams_ / static_cast<double>(copies));
    if (share > 0) sink.put("link_share", share);
    watch_.put(sink);
    if (memcpy_rate_ == 0) return;
    const PageableBounds bounds = pageable_bounds(memcpy_rate_, pinned_rate_);
    sink.put("pageable_serial_bandwidth", bounds.serial);
    sink.put("pageable_pipelined_bandwidth", bounds.pipelined);
    sink.put("memcpy_bandwidth", memcpy_rate_);
    sink.put("pinned_bandwidth", pinned_rate_);
  }

  /// Every buffer that the last copies filled: on the GPU's side it is fetched by pinned copies.
  std::vector<WrongBlock> verify(const DataProgress& progress) override {
    std::vector<WrongBlock> wrong;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      progress(i, lanes_.size(), "checking copies");
      unless_lost(lanes_[i]->gpu, [&] { lanes_[i]->verify(wrong); });
    }
    return wrong;
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> all = notes_;
    for (std::string& note : watch_.notes()) all.push_back(std::move(note));
    return all;
  }
  void cleanup(Node&) override { lanes_.clear(); }

 protected:
  Transfer(Params& p, CopyKind kind)
      : kind_(kind),
        memory_(declare_memory(p, HostMemory::pinned)),
        size_(p.bytes("size", 256_MiB, {.min = 1, .max = static_cast<double>(64_GiB)}, "of one copy")),
        streams_(static_cast<unsigned>(
            p.count("streams", 1, {.min = 1, .max = 64}, "of each GPU, each with buffers of its own"))),
        in_flight_(p.count("copies_in_flight", 16, {.min = 1, .max = 256},
                           "copies queued on each stream at once; pageable ones are waited for one by one")),
        copies_(
            p.count("copies", 0, {}, "per repetition and stream; 0 = 4 GiB worth of them, pageable 1 GiB, 4 to 4096")),
        placement_(Placement::declare(p)),
        all_(p.choice("gpus", "each", {"each", "all"}, "one GPU after the other, or all at the same time") == "all"),
        huge_pages_(p.flag("huge_pages", false, "pageable and registered buffers in huge pages")) {
    const std::string own = kind == CopyKind::h2d ? "h2d" : "d2h";
    both_ = p.choice("direction", own, {own, "both"},
                     "both: with other copies in the opposite direction; this direction is measured") == "both";
    if (both_ && memory_ == HostMemory::pageable)
      p.conflict("direction", "pageable copies are made one at a time: use pinned, registered or write_combined");
    // Pageable copies take about four times as long.
    const std::uint64_t worth = memory_ == HostMemory::pageable ? 1_GiB : 4_GiB;
    if (copies_ == 0) copies_ = std::clamp<std::uint64_t>(worth / (size_ * streams_), 4, 4096);
  }

 private:
  static constexpr unsigned kWarmUps = 4;

  struct Times {
    double device_s = 0, host_s = 0;
    std::uint64_t bytes = 0, begin_ns = 0, end_ns = 0;
  };

  /// One GPU with its streams and buffers.
  struct Lane {
    Lane(Transfer& owner, Gpu& gpu, unsigned index, const NumaNode* place)
        : owner(owner), index(index), gpu(gpu), place(place) {
      for (unsigned s = 0; s < owner.streams_; ++s) routes.push_back(route(owner.kind_, owner.memory_));
      if (owner.both_) {
        const CopyKind back = owner.kind_ == CopyKind::h2d ? CopyKind::d2h : CopyKind::h2d;
        opposite.push_back(route(back, owner.memory_));
      }
      times.resize(owner.threads_per_gpu());
      for (unsigned s = 0; s < owner.streams_; ++s) send_pattern(s);
    }

    Route route(CopyKind kind, HostMemory memory) {
      hosts.push_back(std::make_unique<HostArea>(gpu, memory, owner.size_, place, owner.huge_pages_));
      devices.push_back(gpu.allocate(owner.size_));
      streams.push_back(gpu.stream());
      unsigned char *host = hosts.back()->begin(), *device = devices.back()->begin();
      return kind == CopyKind::h2d ? Route{streams.back().get(), device, host}
                                   : Route{streams.back().get(), host, device};
    }
    std::uint64_t key(unsigned stream) const { return index * 64u + stream; }
    /// Puts into a stream's source what verify() looks for.
    void send_pattern(unsigned stream) {
      if (owner.kind_ == CopyKind::h2d) {
        fill_pattern(hosts[stream]->begin(), owner.size_, key(stream));
        return;
      }
      const auto source = gpu.pinned(owner.size_, false);
      fill_pattern(source->begin(), owner.size_, key(stream));
      streams[stream]->copy(devices[stream]->begin(), source->begin(), owner.size_, CopyKind::h2d);
      streams[stream]->wait();
    }
    void verify(std::vector<WrongBlock>& wrong) {
      for (unsigned s = 0; s < owner.streams_; ++s) {
        const std::string where = gpu_name(index) + " stream " + std::to_string(s);
        if (owner.kind_ == CopyKind::d2h) {
          check_pattern(hosts[s]->begin(), owner.size_, key(s), where, wrong, gpu_name(index));
          continue;
        }
        const auto back = gpu.pinned(owner.size_, false);
        streams[s]->attach();
        streams[s]->copy(back->begin(), devices[s]->begin(), owner.size_, CopyKind::d2h);
        streams[s]->wait();
        check_pattern(back->begin(), owner.size_, key(s), where, wrong, gpu_name(index));
      }
    }
    /// All threads of this GPU. By the host's clock they run in parallel.
    Times sum(bool by_host_clock) const {
      Times all;
      for (const Times& t : times) {
        if (t.bytes == 0) continue;
        all.bytes += t.bytes;
        all.device_s += t.device_s;
        all.host_s += t.host_s;
        all.begin_ns = all.begin_ns == 0 ? t.begin_ns : std::min(all.begin_ns, t.begin_ns);
        all.end_ns = std::max(all.end_ns, t.end_ns);
      }
      if (by_host_clock) all.device_s = all.host_s = 1e-9 * static_cast<double>(all.end_ns - all.begin_ns);
      return all;
    }

    Transfer& owner;
    unsigned index;
    Gpu& gpu;
    const NumaNode* place;
    std::vector<std::unique_ptr<HostArea>> hosts;
    std::vector<std::unique_ptr<GpuMemory>> devices;
    std::vector<std::unique_ptr<GpuStream>> streams;  // goes first: queued work still uses the rest
    std::vector<Route> routes, opposite;
    std::vector<Times> times;  // of each thread
  };

  unsigned threads_per_gpu() const { return memory_ == HostMemory::pageable ? streams_ : 1; }
  Lane& lane_of(const Worker& worker) { return *lanes_[all_ ? worker.index / threads_per_gpu() : worker.phase]; }

  /// Pageable: a thread's own stream; pinned: all of the GPU's.
  std::span<const Route> routes_of(const Lane& lane, const Worker& worker) const {
    const std::span<const Route> all = lane.routes;
    return threads_per_gpu() == 1 ? all : all.subspan(worker.index % threads_per_gpu(), 1);
  }

  void run_gated(Lane& lane, Times& times, Recorder& recorder) {
    for (std::uint64_t done = 0; done < copies_ && recorder.running();) {
      const std::uint64_t now = std::min(in_flight_, copies_ - done);
      const BatchTimes batch = gated_batch(lane.routes, size_, kind_, now, lane.opposite,
                                           [&recorder](std::uint64_t ns) { recorder.part(1, ns); });
      const std::uint64_t bytes = now * streams_ * size_;
      times.device_s += batch.device_s;
      times.host_s += 1e-9 * static_cast<double>(batch.ended_ns - batch.opened_ns);
      times.bytes += bytes;
      recorder.op(batch.opened_ns, batch.ended_ns, bytes);
      done += now;
    }
  }
  void run_waiting(const Route& route, Times& times, Recorder& recorder) {
    times.begin_ns = now_ns();
    for (std::uint64_t done = 0; done < copies_ && recorder.running(); ++done) {
      const std::uint64_t begin = now_ns();
      route.stream->copy(route.to, route.from, size_, kind_);
      const std::uint64_t submitted = now_ns();
      route.stream->wait();
      times.end_ns = now_ns();
      times.bytes += size_;
      recorder.part(1, submitted - begin);
      recorder.op(begin, times.end_ns, size_);
    }
  }

  double longest_of_all() const {
    double longest = 0;
    for (const auto& lane : lanes_) longest = std::max(longest, lane->sum(memory_ == HostMemory::pageable).device_s);
    return longest;
  }

  /// Untimed: what bounds a pageable copy (B8, B9): one thread's copy, and the link with pinned
  /// memory.
  void calibrate() {
    constexpr unsigned kRounds = 3;
    Lane& lane = *lanes_.front();
    const OnNumaNode there(lane.place);
    const std::uint64_t bytes = std::min(size_, 256_MiB);
    Buffers staging(1, bytes, huge_pages_);
    unsigned char* const host = lane.hosts.front()->begin();
    const std::uint64_t rounds = std::max<std::uint64_t>(1, 64_MiB / bytes);
    for (unsigned round = 0; round < kRounds; ++round) {
      const std::uint64_t begin = now_ns();
      for (std::uint64_t i = 0; i < rounds; ++i) {
        unsigned char *to = staging.begin(), *from = host;
        if (kind_ == CopyKind::d2h) std::swap(to, from);
        std::memcpy(to, from, bytes);
        asm volatile("" : : "r"(to) : "memory");
      }
      const double s = 1e-9 * static_cast<double>(now_ns() - begin);
      memcpy_rate_ = std::max(memcpy_rate_, static_cast<double>(rounds * bytes) / s);
    }
    const HostArea pinned(lane.gpu, HostMemory::pinned, size_, lane.place);
    const Route& own = lane.routes.front();
    const Route route = kind_ == CopyKind::h2d ? Route{own.stream, own.to, pinned.begin()}
                                               : Route{own.stream, pinned.begin(), own.from};
    for (unsigned round = 0; round < kRounds; ++round) {
      const BatchTimes batch = gated_batch(std::span(&route, 1), size_, kind_, kWarmUps, {}, [](std::uint64_t) {});
      pinned_rate_ = std::max(pinned_rate_, static_cast<double>(kWarmUps * size_) / batch.device_s);
    }
  }

  void note_placement(const Lane& lane, unsigned index) {
    const GpuFacts& facts = lane.gpu.facts();
    notes_.push_back(gpu_name(index) + ": " + facts.name + ", buffers " + lane.hosts.front()->placement());
    if (!lane.hosts.front()->refused().empty())
      notes_.push_back(gpu_name(index) + ": " + lane.hosts.front()->refused());
    if (facts.coherent && memory_ == HostMemory::pageable)
      notes_.push_back(gpu_name(index) +
                       " reads pageable memory by itself, without staging: bounds B8 and B9 do not hold for it");
  }

  CopyKind kind_;
  HostMemory memory_;
  std::uint64_t size_;
  unsigned streams_;
  std::uint64_t in_flight_, copies_;
  Placement placement_;
  bool all_, both_ = false, huge_pages_;
  std::vector<std::string> notes_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  double memcpy_rate_ = 0, pinned_rate_ = 0;
};

}  // namespace headrace::gpu
