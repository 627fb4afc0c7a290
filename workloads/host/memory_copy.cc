// memory_copy - STREAM's kernels on all cores, then node by node: what memory gives a loader that
// decodes, collates and pins.
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "harness/backends/buffers.h"
#include "harness/base/error.h"
#include "harness/machine/cpu.h"
#include "harness/machine/numa.h"
#include "harness/workload/workload.h"

namespace {
using namespace headrace;

constexpr std::array kMemoryCopyMetrics{
    Metric{"copy_bandwidth", "B/s", Better::higher,
           "c = a on all cores: bytes read and bytes written, as STREAM counts"},
    Metric{"scale_bandwidth", "B/s", Better::higher, "c = 3 a, counted the same"},
    Metric{"add_bandwidth", "B/s", Better::higher, "c = a + b, counted the same"},
    Metric{"triad_bandwidth", "B/s", Better::higher, "c = a + 3 b, counted the same"},
    Metric{"slowest_node_bandwidth", "B/s", Better::higher,
           "The same kernel on the cores and the memory of the slowest NUMA node alone; none where "
           "there is only one"},
};

// The compiler must neither make copy a call of memcpy, which picks its own stores, nor widen it. 16 bytes at a time
// are enough to wait for memory.
using Vector = double __attribute__((vector_size(16), may_alias));
constexpr std::size_t kLine = 64 / sizeof(Vector);
constexpr std::uint64_t kPeriod = 1024;  // of the arrays' content

#if defined(__SSE2__) || defined(__aarch64__)
constexpr bool kNonTemporal = true;
#else
constexpr bool kNonTemporal = false;
#endif

/// Past the caches, without reading the line first.
inline void store_line(Vector* to, const Vector (&line)[kLine]) {
#if defined(__SSE2__)
  for (std::size_t i = 0; i < kLine; ++i) _mm_stream_pd(reinterpret_cast<double*>(to + i), line[i]);
#elif defined(__aarch64__)
  for (std::size_t i = 0; i < kLine; i += 2)
    asm volatile("stnp %q0, %q1, [%2]" ::"w"(line[i]), "w"(line[i + 1]), "r"(to + i) : "memory");
#else
  for (std::size_t i = 0; i < kLine; ++i) to[i] = line[i];
#endif
}

enum class Kernel { copy, scale, add, triad };
constexpr std::array<const char*, 4> kKernels{"copy", "scale", "add", "triad"};

constexpr unsigned sources(Kernel kernel) { return kernel == Kernel::copy || kernel == Kernel::scale ? 1 : 2; }

template <Kernel kernel, class T>
T value(T a, T b) {
  switch (kernel) {
    case Kernel::copy:
      return a;
    case Kernel::scale:
      return 3.0 * a;
    case Kernel::add:
      return a + b;
    case Kernel::triad:
      return a + 3.0 * b;
  }
}

/// One pass over `bytes`, whole lines, of each array.
template <Kernel kernel, bool non_temporal>
void pass(const unsigned char* a, const unsigned char* b, unsigned char* c, std::uint64_t bytes) {
  const auto* x = reinterpret_cast<const Vector*>(a);
  const auto* y = reinterpret_cast<const Vector*>(b);
  auto* z = reinterpret_cast<Vector*>(c);
  const std::size_t count = bytes / sizeof(Vector);
  for (std::size_t i = 0; i < count; i += kLine) {
    Vector line[kLine];
    for (std::size_t k = 0; k < kLine; ++k) line[k] = value<kernel>(x[i + k], y[i + k]);
    if constexpr (non_temporal) {
      store_line(z + i, line);
    } else {
      for (std::size_t k = 0; k < kLine; ++k) z[i + k] = line[k];
    }
    asm volatile("" ::: "memory");
  }
#if defined(__SSE2__)
  if constexpr (non_temporal) _mm_sfence();
#endif
}

using Pass = void (*)(const unsigned char*, const unsigned char*, unsigned char*, std::uint64_t);
constexpr std::array<std::array<Pass, 2>, 4> kPasses{{
    {pass<Kernel::copy, false>, pass<Kernel::copy, true>},
    {pass<Kernel::scale, false>, pass<Kernel::scale, true>},
    {pass<Kernel::add, false>, pass<Kernel::add, true>},
    {pass<Kernel::triad, false>, pass<Kernel::triad, true>},
}};

/// Element `i` of a source: exact in every kernel.
double content(unsigned source, std::uint64_t i) {
  return source + 1 + static_cast<double>(i % kPeriod) / static_cast<double>(kPeriod);
}

double expected(Kernel kernel, std::uint64_t i) {
  const double a = content(0, i), b = content(1, i);
  switch (kernel) {
    case Kernel::copy:
      return value<Kernel::copy>(a, b);
    case Kernel::scale:
      return value<Kernel::scale>(a, b);
    case Kernel::add:
      return value<Kernel::add>(a, b);
    case Kernel::triad:
      return value<Kernel::triad>(a, b);
  }
  return 0;
}

/// One thread: its core, its node, and its part of the arrays there.
struct Thread {
  Thread(int at, const NumaNode& near) : cpu(at), node(&near) {}
  int cpu;
  const NumaNode* node;
  std::unique_ptr<Buffers> arrays;  // the sources, then the destination
  std::string misplaced;            // why pages are on another node, if so
};

void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);  // not bound is slower, not wrong
}

/// Looks at some pages.
bool all_lie_on(const Buffers& memory, int node) {
  const std::uint64_t step = std::max(memory.length() / 256, kPage);
  for (std::uint64_t at = 0; at < memory.length(); at += step)
    if (const int found = numa_node_of(memory.begin() + at); found >= 0 && found != node) return false;
  return true;
}

/// How many bytes/s can the cores move through memory?
class MemoryCopy final : public Workload {
 public:
  explicit MemoryCopy(Params& p)
      : kernel_(static_cast<Kernel>(std::find(kKernels.begin(), kKernels.end(),
                                              p.choice("kernel", kKernels[0], {kKernels.begin(), kKernels.end()},
                                                       "c = a, c = 3 a, c = a + b, or c = a + 3 b")) -
                                    kKernels.begin())),
        workers_(static_cast<unsigned>(p.count("workers", 0, {.max = 4096},
                                               "threads, spread over the NUMA nodes; 0 = one for "
                                               "each core that this process may use"))),
        array_size_(p.bytes("array_size", 0, {.max = 0x1p50},
                            "each array, all threads together; 0 = four times the last-level "
                            "caches, at least 256MiB")),
        passes_(p.count("passes", 20, {.min = 1, .max = 1e6}, "times through the arrays")),
        non_temporal_(
            p.flag("non_temporal", false, "stores that go past the caches, as memcpy uses for large copies")) {}

  static std::span<const Metric> metrics() { return kMemoryCopyMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (non_temporal_ && !kNonTemporal) return Skip{"no non-temporal stores are known for this architecture"};
    plan(node);
    const std::uint64_t available = node.memory_available();
    if (memory_bytes() > available / 10 * 9)
      return Skip{
          fmt::format("the arrays take {} of memory, {} is available", describe(memory_bytes()), describe(available))};
    return std::nullopt;
  }
  Footprint footprint() const override {
    Footprint footprint;
    footprint.memory_bytes = memory_bytes();
    return footprint;
  }
  unsigned workers() const override { return std::max<unsigned>(1, static_cast<unsigned>(threads_.size())); }
  std::vector<PhaseSpec> phases() const override {
    std::vector<PhaseSpec> phases{{"all"}};
    if (nodes_.size() > 1)
      for (const int node : nodes_) phases.push_back({fmt::format("node{}", node)});
    return phases;
  }

  void prepare(Node& node, const DataProgress&) override { plan(node); }

  /// The first time, each thread makes and touches its part where it is going to run.
  void before_run(Worker& worker) override {
    Thread& thread = threads_[worker.index];
    stay_on(thread.cpu);
    if (thread.arrays) return;
    const OnNumaNode near(all_nodes_.size() > 1 ? thread.node : nullptr);
    thread.arrays = std::make_unique<Buffers>(sources(kernel_) + 1, slice_, true);
    for (unsigned source = 0; source < sources(kernel_); ++source) {
      auto* values = reinterpret_cast<double*>((*thread.arrays)[source]);
      for (std::uint64_t i = 0; i < slice_ / sizeof(double); ++i) values[i] = content(source, i);
    }
    thread.misplaced = near.refused();
    if (thread.misplaced.empty() && !all_lie_on(*thread.arrays, thread.node->id))
      thread.misplaced = fmt::format("some pages of node {}'s threads lie on another", thread.node->id);
  }

  void run(Worker& worker) override {
    const Thread& thread = threads_[worker.index];
    if (worker.phase > 0 && thread.node->id != nodes_[worker.phase - 1]) return;
    const Buffers& arrays = *thread.arrays;
    const Pass pass = kPasses[static_cast<std::size_t>(kernel_)][non_temporal_];
    const unsigned char* a = arrays[0];
    const unsigned char* b = arrays[sources(kernel_) - 1];
    unsigned char* c = arrays[sources(kernel_)];
    std::uint64_t begin = now_ns();
    for (std::uint64_t i = 0; i < passes_ && worker.recorder.running(); ++i) {
      pass(a, b, c, slice_);
      const std::uint64_t end = now_ns();
      worker.recorder.op(begin, end, (sources(kernel_) + 1) * slice_);
      begin = end;
    }
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    const auto& phases = repetition.phases;
    sink.put(fmt::format("{}_bandwidth", name()), phases.front().bytes_per_s());
    if (phases.size() < 2) return;
    double slowest = phases[1].bytes_per_s();
    for (const PhaseResult& node : std::span(phases).subspan(1)) slowest = std::min(slowest, node.bytes_per_s());
    sink.put("slowest_node_bandwidth", slowest);
  }

  std::vector<WrongBlock> verify(const DataProgress&) override {
    for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
      const auto* c = reinterpret_cast<const double*>((*threads_[thread].arrays)[sources(kernel_)]);
      for (std::uint64_t i = 0; i < slice_ / sizeof(double); ++i)
        if (c[i] != expected(kernel_, i))
          return {{fmt::format("memory of thread {}", thread), i * sizeof(double),
                   fmt::format("{} gave {}, not {}", name(), c[i], expected(kernel_, i))}};
    }
    return {};
  }

  std::vector<std::string> notes() override {
    std::vector<std::string> notes;
    if (threads_.empty()) return notes;
    if (cache_ > 0 && size() < 4 * cache_)
      notes.push_back(
          fmt::format("an array of {} is less than four times the last-level caches "
                      "({}): they serve a part",
                      describe(size()), describe(cache_)));
    const auto any = [&](auto what) { return std::any_of(threads_.begin(), threads_.end(), what); };
    if (any([](const Thread& l) { return l.arrays && l.arrays->pages() == Buffers::Pages::ordinary; }))
      notes.emplace_back("no huge pages: the arrays lie in ordinary pages");
    for (const Thread& thread : threads_) {
      if (thread.misplaced.empty()) continue;
      notes.push_back(thread.misplaced);
      break;
    }
    return notes;
  }
  void cleanup(Node&) override { threads_.clear(); }

 private:
  static std::string describe(std::uint64_t bytes) {
    return format_quantity(static_cast<double>(bytes), Dimension::bytes, true);
  }
  const char* name() const { return kKernels[static_cast<std::size_t>(kernel_)]; }
  /// The size of one array.
  std::uint64_t size() const { return array_size_ ? array_size_ : std::max(4 * cache_, 256_MiB); }
  std::uint64_t memory_bytes() const { return (sources(kernel_) + 1) * size(); }

  /// Which threads run where: cores in turns from each node, so that a few are spread evenly.
  void plan(const Node& machine) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ::sched_getaffinity(::getpid(), sizeof allowed, &allowed);
    all_nodes_ = numa_nodes();
    if (all_nodes_.empty()) {  // a kernel without NUMA
      NumaNode& only = all_nodes_.emplace_back();
      for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &allowed)) only.cpus.push_back(cpu);
    }
    std::size_t most = 0;
    for (const NumaNode& node : all_nodes_) most = std::max(most, node.cpus.size());
    std::vector<Thread> cores;
    std::vector<int> cpus;
    for (std::size_t turn = 0; turn < most; ++turn) {
      for (const NumaNode& node : all_nodes_) {
        if (turn >= node.cpus.size() || !CPU_ISSET(node.cpus[turn], &allowed)) continue;
        cores.emplace_back(node.cpus[turn], node);
        cpus.push_back(node.cpus[turn]);
      }
    }
    if (cores.empty()) throw RunError("no processor of a NUMA node may be used");
    cache_ = last_level_cache(cpus);
    const std::size_t wanted = workers_ ? workers_ : machine.cores();
    threads_.clear();
    nodes_.clear();
    for (std::size_t i = 0; i < wanted; ++i) {
      const Thread& core = cores[i % cores.size()];
      threads_.emplace_back(core.cpu, *core.node);
      if (std::find(nodes_.begin(), nodes_.end(), core.node->id) == nodes_.end()) nodes_.push_back(core.node->id);
    }
    std::sort(nodes_.begin(), nodes_.end());
    slice_ = std::max<std::uint64_t>(size() / wanted / kPage, 1) * kPage;
  }

  Kernel kernel_;
  unsigned workers_;
  std::uint64_t array_size_, passes_;
  bool non_temporal_;
  std::uint64_t cache_ = 0;  // all last-level caches [B]
  std::vector<NumaNode> all_nodes_;
  std::vector<Thread> threads_;  // one for each thread
  std::vector<int> nodes_;       // that have threads
  std::uint64_t slice_ = 0;      // of each array, each thread [B]
};

const Register<MemoryCopy> registered_memory_copy{
    "memory_copy", "STREAM-like kernels on all cores and on each NUMA node: memory bandwidth"};
}  // namespace
