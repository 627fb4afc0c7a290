// GPUs whose memory is host memory and whose copies take known times: for everything around a copy
// that needs no GPU.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/base/error.h"
#include "harness/record/recorder.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/hollow_memory.h"

namespace headrace::testing {

/// How one such GPU behaves.
struct HostGpuSettings {
  double h2d = 10e9, d2h = 8e9, d2d = 100e9, peer = 20e9;  // [B/s]
  double cores = 15e9;                                     // of copies by a kernel
  std::uint64_t own_load_ns = 500, other_load_ns = 1'500;  // of a load, from its own memory and any other
  std::uint64_t cached_load_ns = 0;                        // from where it loaded before; 0 = likewise
  double memory = 200e9;                                   // of what kernels read and write [B/s]
  std::uint64_t copy_ns = 0;                               // of each copy, besides its bytes
  GpuFacts facts{.name = "Test GPU",
                 .driver = "1.0",
                 .uuid = "",  // GPU-0 and so on
                 .pci_address = "",
                 .memory = std::uint64_t{1} << 30,
                 .numa_node = -1,
                 .link_max = {5, 16},
                 .slice = false,
                 .coherent = false};
  GpuState state{.link = {5, 16},
                 .clock_hz = {},
                 .memory_clock_hz = {},
                 .power_w = {},
                 .temperature_c = {},
                 .held_back = "",
                 .replays = 0,
                 .ecc_corrected = 0,
                 .ecc_uncorrected = 0};
  std::uint64_t replays_per_copy = 0;
  bool has_peers = true;
  std::uint64_t product_ns = 1'000'000;  // of a product of matrices
  std::uint64_t wrong_after =
      std::numeric_limits<std::uint64_t>::max();  // products; later ones have a wrong element ...
  std::uint64_t wrong_each = 1;                   // ... one in that many of them
  std::uint64_t most_allocated = std::numeric_limits<std::uint64_t>::max();  // of its memory; others hold the rest
  std::uint64_t flips_after =
      std::numeric_limits<std::uint64_t>::max();  // checks of memory; the next finds a bit flipped
  bool runs_hot = false;                          // its power follows its products
  std::uint64_t product_hangs_after = std::numeric_limits<std::uint64_t>::max();  // products; the next never ends
  std::string no_products;                                                        // why matrices cannot be multiplied
  /// Decodes JPEG images: fills in width and height, and pixels where there is room for them. False: it is none.
  std::function<bool(GpuImage& image)> jpeg;
  std::uint64_t image_ns = 1'000'000;                                     // of an image
  std::string no_hardware = "no decoders";                                // why the GPU's own decoders decode nothing
  std::uint64_t lost_after = std::numeric_limits<std::uint64_t>::max();   // copies; then every call fails
  std::uint64_t hangs_after = std::numeric_limits<std::uint64_t>::max();  // copies; the next never ends
  std::string no_sharing;                                                 // why it shares no memory over a fabric
  std::optional<CopyKind> corrupts;                                       // copies of this kind flip a bit
};

struct HostBackendSettings {
  std::vector<HostGpuSettings> gpus{HostGpuSettings{}};
  double staging = 5e9;  // of pageable memory [B/s]
  std::uint64_t most_pinned = std::numeric_limits<std::uint64_t>::max();
  std::string unusable, no_files;
  bool hollow = false;  // neither numbers of collectives nor products are made, and memory is of addresses alone
  std::chrono::milliseconds patience{200};
};

/// Device times are reckoned, not measured: a copy begins when its stream and its GPU's copy engine
/// of that direction are free (and its gate is open), and takes what the settings say. So times
/// between marks are exact on any machine as long as nothing is queued late, which a gate sees to.
/// wait() does wait until that time has come.
class HostGpuBackend final : public GpuBackend {
 public:
  explicit HostGpuBackend(HostBackendSettings settings) : settings_(std::move(settings)) {
    for (unsigned i = 0; i < settings_.gpus.size(); ++i) {
      if (settings_.gpus[i].facts.uuid.empty()) settings_.gpus[i].facts.uuid = "GPU-" + std::to_string(i);
      gpus_.push_back(std::make_unique<Device>(*this, i, settings_.gpus[i]));
    }
  }

  std::optional<std::string> unusable() const override {
    return settings_.unusable.empty() ? std::nullopt : std::optional(settings_.unusable);
  }
  unsigned count() const override { return static_cast<unsigned>(gpus_.size()); }
  Gpu& gpu(unsigned index) override { return *gpus_.at(index); }
  std::optional<std::string> no_file_reader() const override {
    return settings_.no_files.empty() ? std::nullopt : std::optional(settings_.no_files);
  }

  /// What the GPU's management library reports from now on.
  HostGpuSettings& settings(unsigned gpu) { return gpus_.at(gpu)->settings; }
  std::uint64_t copies(unsigned gpu) const { return gpus_.at(gpu)->copies; }
  /// Pinned host memory that lives [B].
  std::uint64_t pinned_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [begin, size] : pinned_) sum += size;
    return sum;
  }
  /// Streams and device memory that live.
  int objects() const { return objects_; }
  /// GPUs of which anything was asked that starts a context on it.
  const std::set<unsigned>& touched() const { return touched_; }
  unsigned most_held() const { return most_held_; }  // copies behind a closed gate at once

 private:
  struct Stream;
  struct Device;
  class HostMultiplier;
  class HostImageDecoder;

  struct Memory final : GpuMemory {
    Memory(HostGpuBackend& owner, const Device* device, std::uint64_t bytes) : owner(owner), device(device) {
      const NoTime none;
      if (owner.settings_.hollow)
        hollow.emplace(bytes);
      else
        held.assign(bytes, 0xdd);
      begin_ = hollow ? hollow->begin() : held.data();
      size_ = bytes;
      const std::lock_guard lock(owner.mutex_);
      owner.memories_.push_back(this);
      ++owner.objects_;
    }
    ~Memory() override {
      const std::lock_guard lock(owner.mutex_);
      owner.memories_.remove(this);
      --owner.objects_;
    }
    HostGpuBackend& owner;
    const Device* device;
    std::optional<HollowMemory> hollow;
    std::vector<unsigned char> held;
  };

  /// Another GPU's, of any backend of this process.
  struct Mapped final : GpuMemory {
    Mapped(const GpuFabricHandle& handle, std::uint64_t bytes) {
      std::memcpy(&begin_, handle.data(), sizeof begin_);
      size_ = bytes;
    }
  };

  struct Pinned final : GpuMemory {
    Pinned(HostGpuBackend& owner, std::uint64_t bytes) : owner(owner), held(bytes, 0x5a) { use(held); }
    Pinned(HostGpuBackend& owner, std::span<unsigned char> memory) : owner(owner) { use(memory); }
    ~Pinned() override {
      const std::lock_guard lock(owner.mutex_);
      owner.pinned_.erase(begin_);
    }
    void use(std::span<unsigned char> memory) {
      begin_ = memory.data();
      size_ = memory.size();
      const std::lock_guard lock(owner.mutex_);
      owner.pinned_[begin_] = size_;
    }
    HostGpuBackend& owner;
    std::vector<unsigned char> held;
  };

  struct Device final : Gpu {
    Device(HostGpuBackend& owner, unsigned index, HostGpuSettings settings)
        : owner(owner), index(index), name("gpu" + std::to_string(index)), settings(std::move(settings)) {}
    const GpuFacts& facts() const override { return settings.facts; }
    GpuState state() override {
      const auto locked = [this] {
        const std::lock_guard lock(owner.mutex_);
        return settings.state;
      };
      GpuState now = locked();
      if (settings.runs_hot) now.power_w = power();
      return now;
    }
    /// From a tenth of its limit to all of it, by the share of the time since the last look in which products ran.
    double power() {
      const std::lock_guard lock(owner.mutex_);
      const std::uint64_t at = now_ns();
      const double busy =
          static_cast<double>(busy_ns - busy_seen_ns) / static_cast<double>(std::max<std::uint64_t>(1, at - seen_ns));
      seen_ns = at;
      busy_seen_ns = busy_ns;
      return settings.state.power_limit_w.value_or(0) * (0.1 + 0.9 * std::min(1.0, busy));
    }
    std::string lost() const override {
      if (hung) return kHung;
      return copies > settings.lost_after ? "copy on " + name + ": " + kLost : std::string();
    }
    std::optional<std::uint64_t> free_memory() override {
      const std::uint64_t most = std::min(settings.facts.memory, settings.most_allocated),
                          held = owner.allocated(*this);
      return most > held ? most - held : 0;
    }
    std::unique_ptr<GpuMemory> allocate(std::uint64_t bytes) override {
      touch();
      if (bytes > settings.facts.memory || owner.allocated(*this) + bytes > settings.most_allocated)
        throw RunError("allocate on " + name + ": out of memory");
      return std::make_unique<Memory>(owner, this, bytes);
    }
    std::unique_ptr<GpuStream> stream() override {
      touch();
      return std::make_unique<Stream>(owner, *this);
    }
    std::unique_ptr<GpuMemory> pinned(std::uint64_t bytes, bool) override {
      touch();
      if (bytes > owner.settings_.most_pinned)
        throw RunError("pin " + std::to_string(bytes) + " bytes: refused by the test");
      return std::make_unique<Pinned>(owner, bytes);
    }
    std::unique_ptr<GpuMemory> pin(std::span<unsigned char> memory) override {
      touch();
      if (memory.size() > owner.settings_.most_pinned)
        throw RunError("register " + std::to_string(memory.size()) + " bytes: refused by the test");
      return std::make_unique<Pinned>(owner, memory);
    }
    std::unique_ptr<GpuMemory> share(std::uint64_t bytes, GpuFabricHandle& handle) override {
      if (!settings.no_sharing.empty()) throw Unsupported(settings.no_sharing);
      auto memory = allocate(bytes);
      const unsigned char* const begin = memory->begin();
      std::memcpy(handle.data(), &begin, sizeof begin);
      return memory;
    }
    std::unique_ptr<GpuMemory> map(const GpuFabricHandle& handle, std::uint64_t bytes) override {
      return std::make_unique<Mapped>(handle, bytes);
    }
    bool reaches(Gpu& other) override {
      touch();
      return settings.has_peers && &other != this;
    }
    void touch() {
      const std::lock_guard lock(owner.mutex_);
      owner.touched_.insert(index);
    }
    std::unique_ptr<GpuMultiplier> multiplier(GpuStream& stream, const GpuMatrices& matrices) override;
    std::unique_ptr<GpuImageDecoder> image_decoder(GpuStream& stream, unsigned batch, unsigned host_threads,
                                                   bool hardware) override;
    std::unique_ptr<GpuFileReader> file_reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                               const GpuMemory& memory) override;
    void check() const {
      if (hung) throw RunError(name + " was given up: " + kHung);
      if (copies > settings.lost_after) throw RunError("copy on " + name + ": " + kLost);
    }

    HostGpuBackend& owner;
    unsigned index;
    std::string name;
    HostGpuSettings settings;
    static constexpr const char* kLost = "the GPU has fallen off the bus";
    std::atomic<std::uint64_t> copies = 0;
    std::uint64_t engine_free_ns[3] = {};
    std::set<const void*> loaded;  // places
    std::uint64_t checks = 0, busy_ns = 0, busy_seen_ns = 0, seen_ns = now_ns();
    static constexpr const char* kHung = "TIMEOUT: its work did not end";
    std::atomic<bool> hung = false;
  };

  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  /// One queued thing; `ready` reports when it could begin, kNever while that is open.
  struct Work {
    std::function<std::uint64_t(std::uint64_t free_ns)> run;  // given when the stream is free; returns when it ends
    const Stream* other = nullptr;
    unsigned mark = 0;
    std::uint64_t version = 0;  // of the other's mark
    bool is_copy = false;
  };

  struct Stream final : GpuStream {
    Stream(HostGpuBackend& owner, Device& device) : owner(owner), device(device) {
      const std::lock_guard lock(owner.mutex_);
      place = owner.streams_.insert(owner.streams_.end(), this);
      ++owner.objects_;
    }
    ~Stream() override {
      const std::lock_guard lock(owner.mutex_);
      owner.streams_.erase(place);
      --owner.objects_;
    }

    void attach() override {}
    void copy(void* to, const void* from, std::uint64_t bytes, CopyKind kind) override {
      std::unique_lock lock(owner.mutex_);
      ++device.copies;
      device.check();
      const void* host = kind == CopyKind::h2d ? from : to;
      const bool pageable = kind != CopyKind::d2d && !owner.is_pinned(host, bytes);
      const std::uint64_t number = device.copies - 1;
      std::uint64_t ns = duration(bytes, kind, to, from);
      if (pageable) {
        if (gated) throw std::logic_error("a copy of pageable memory behind a closed gate");
        lock.unlock();
        wait();
        lock.lock();
        ns += static_cast<std::uint64_t>(1e9 * static_cast<double>(bytes) / owner.settings_.staging);
      }
      Work work;
      work.is_copy = true;
      work.run = [this, to, from, bytes, kind, number, ns](std::uint64_t free_ns) {
        std::uint64_t& engine = device.engine_free_ns[static_cast<std::size_t>(kind)];
        const std::uint64_t end = std::max(free_ns, engine) + ns;
        engine = end;
        move(to, from, bytes);
        if (device.settings.state.replays) *device.settings.state.replays += device.settings.replays_per_copy;
        if (device.settings.corrupts == kind) static_cast<unsigned char*>(to)[bytes / 2] ^= 1;
        return number >= device.settings.hangs_after ? kNever : end;
      };
      queue(std::move(work));
      if (!pageable) return;
      lock.unlock();
      wait();  // staged and sent: that is when the caller has its buffer back
    }
    void copy_by_cores(void* to, const void* from, std::uint64_t bytes) override {
      const std::lock_guard lock(owner.mutex_);
      device.check();
      const auto ns = static_cast<std::uint64_t>(1e9 * static_cast<double>(bytes) / device.settings.cores);
      Work work;
      work.run = [this, to, from, bytes, ns](std::uint64_t free) {
        move(to, from, bytes);
        return free + ns;
      };
      queue(std::move(work));
    }
    void fill(void* to, std::uint64_t bytes, const GpuPattern& pattern) override {
      take_pattern(to, bytes, nullptr, pattern, nullptr);
    }
    void check_and_fill(void* at, std::uint64_t bytes, const GpuPattern& is, const GpuPattern& next,
                        GpuWrongWords& found) override {
      take_pattern(at, bytes, &is, next, &found);
    }
    void take_pattern(void* at, std::uint64_t bytes, const GpuPattern* is, const GpuPattern& next,
                      GpuWrongWords* found) {
      const std::lock_guard lock(owner.mutex_);
      ++device.copies;
      device.check();
      Work work;
      work.run = [this, words = static_cast<std::uint64_t*>(at), count = bytes / 8, checks = is != nullptr,
                  is = is == nullptr ? next : *is, next, found](std::uint64_t free) {
        if (checks && device.checks++ == device.settings.flips_after) words[count / 2] ^= 8;
        for (std::uint64_t i = 0; i < count && !owner.settings_.hollow; ++i) {
          if (checks && words[i] != pattern_word(is, i)) {
            ++found->count;
            if (found->seen++ == 0) {
              found->index = i;
              found->is = words[i];
              found->should_be = pattern_word(is, i);
            }
          }
          words[i] = pattern_word(next, i);
        }
        return free + static_cast<std::uint64_t>(1e9 * 16 * static_cast<double>(count) / device.settings.memory);
      };
      queue(std::move(work));
    }
    void bring(void* in, const ExpectedSums& data, bool in_place) override {
      take_elements(data.count(), data.element(), [=] { data.fill(in, in_place); });
    }
    void check(const void* out, const ExpectedSums& data, GpuWrongElements& found) override {
      take_elements(data.results(), data.element(), [=, &found] {
        const GpuWrongElements wrong = data.wrong(out);
        found.count += wrong.count;
        found.first = std::min(found.first, wrong.first);
      });
    }
    template <class Take>
    void take_elements(std::uint64_t count, NcclElement element, Take take) {
      const std::lock_guard lock(owner.mutex_);
      device.check();
      Work work;
      work.run = [this, bytes = static_cast<double>(count * layout_of(element).bytes), take](std::uint64_t free) {
        if (!owner.settings_.hollow) take();
        return free + static_cast<std::uint64_t>(1e9 * bytes / device.settings.memory);
      };
      queue(std::move(work));
    }
    void follow(const void* const* at, std::uint64_t loads) override {
      const std::lock_guard lock(owner.mutex_);
      device.check();
      Work work;
      work.run = [this, at, loads](std::uint64_t free) {
        const HostGpuSettings& s = device.settings;
        const void* const* place = at;
        for (std::uint64_t i = 0; i < loads; ++i) {
          const bool cached = s.cached_load_ns != 0 && !device.loaded.insert(place).second;
          free += cached ? s.cached_load_ns : owner.gpu_of(place) == &device ? s.own_load_ns : s.other_load_ns;
          place = static_cast<const void* const*>(*place);
        }
        return free;
      };
      queue(std::move(work));
    }
    void hold() override {
      const std::lock_guard lock(owner.mutex_);
      device.check();
      gated = true;
    }
    void release() noexcept override {
      const std::lock_guard lock(owner.mutex_);
      gated = false;
      free_ns = std::max(free_ns, now_ns());
      owner.advance();
    }
    void keep_busy(std::uint64_t ns) override {
      const std::lock_guard lock(owner.mutex_);
      device.check();
      Work work;
      work.run = [ns](std::uint64_t free) { return free + ns; };
      queue(std::move(work));
    }
    void mark(unsigned mark) override {
      const std::lock_guard lock(owner.mutex_);
      device.check();
      const std::uint64_t version = ++queued_version[mark];
      Work work;
      work.run = [this, mark, version](std::uint64_t free) {
        reached_ns[mark] = free;
        reached_version[mark] = version;
        return free;
      };
      queue(std::move(work));
    }
    void after(const GpuStream& other, unsigned mark) override {
      const std::lock_guard lock(owner.mutex_);
      device.check();
      const Stream& from = static_cast<const Stream&>(other);
      Work work;
      work.other = &from;
      work.mark = mark;
      work.version = from.queued_version[mark];
      work.run = [&from, mark](std::uint64_t free) { return std::max(free, from.reached_ns[mark]); };
      queue(std::move(work));
    }
    bool reached(unsigned mark) override {
      const std::lock_guard lock(owner.mutex_);
      device.check();
      return reached_version[mark] == queued_version[mark] && reached_ns[mark] <= now_ns();
    }
    void wait_mark(unsigned mark) override {
      await([this, mark] { return reached_version[mark] == queued_version[mark] ? reached_ns[mark] : kNever; });
    }
    void wait() override {
      await([this] { return works.empty() ? free_ns : kNever; });
    }
    double seconds(unsigned from, const GpuStream& other, unsigned to) override {
      const std::lock_guard lock(owner.mutex_);
      const Stream& end = static_cast<const Stream&>(other);
      return 1e-9 * (static_cast<double>(end.reached_ns[to]) - static_cast<double>(reached_ns[from]));
    }

    /// Hollow: a copy that repeats the one before, of the same data as far as samples show, moves nothing. What one GPU's
    /// memory holds is shown in another's, for there may be more GPUs than this machine has memory for.
    void move(void* to, const void* from, std::uint64_t bytes) {
      constexpr std::uint64_t kSamples = 64, kSample = 64;
      bool same = owner.settings_.hollow && bytes > kSamples * kSample && moved == std::tuple(to, from, bytes);
      for (std::uint64_t i = 0; same && i < kSamples; ++i) {
        const std::uint64_t at = (bytes - kSample) / (kSamples - 1) * i;
        same = std::memcmp(static_cast<const char*>(to) + at, static_cast<const char*>(from) + at, kSample) == 0;
      }
      if (!same && !shown(to, from, bytes)) std::memcpy(to, from, bytes);
      moved = {to, from, bytes};
    }
    bool shown(void* to, const void* from, std::uint64_t bytes) const {
      const Memory* source = owner.memory_of(from);
      Memory* target = owner.memory_of(to);
      return source != nullptr && source->hollow && target != nullptr && target->hollow && source != target &&
             target->hollow->show(to, *source->hollow, from, bytes);
    }
    std::uint64_t duration(std::uint64_t bytes, CopyKind kind, const void* to, const void* from) const {
      const HostGpuSettings& s = device.settings;
      const bool peer = kind == CopyKind::d2d && owner.gpu_of(to) != owner.gpu_of(from);
      const double rate = kind == CopyKind::h2d ? s.h2d : kind == CopyKind::d2h ? s.d2h : peer ? s.peer : s.d2d;
      return s.copy_ns + static_cast<std::uint64_t>(1e9 * static_cast<double>(bytes) / rate);
    }
    void queue(Work work) {
      if (works.empty() && !gated) free_ns = std::max(free_ns, now_ns());
      works.push_back(std::move(work));
      const auto held = std::count_if(works.begin(), works.end(), [](const Work& w) { return w.is_copy; });
      owner.most_held_ = std::max(owner.most_held_, static_cast<unsigned>(held));
      owner.advance();
    }
    /// Runs what can run; true when something did.
    bool step() {
      bool moved = false;
      while (!works.empty() && !gated && free_ns != kNever) {
        const Work& next = works.front();
        if (next.other && next.other->reached_version[next.mark] < next.version) break;
        const NoTime none;
        free_ns = next.run(free_ns);
        works.pop_front();
        moved = true;
      }
      return moved;
    }
    void await(const std::function<std::uint64_t()>& when) {
      const auto begin = std::chrono::steady_clock::now();
      for (;;) {
        std::uint64_t at;
        {
          const std::lock_guard lock(owner.mutex_);
          device.check();
          at = when();
          if (at != kNever && at <= now_ns()) return;
          if (at == kNever && std::chrono::steady_clock::now() - begin > owner.settings_.patience) {
            device.hung = true;
            device.check();
          }
        }
        if (at != kNever && pass_until(at)) continue;
        const std::uint64_t now = now_ns();
        const std::uint64_t rest = at == kNever ? 1'000'000 : at > now ? at - now : 0;
        std::this_thread::sleep_for(std::chrono::nanoseconds(std::min<std::uint64_t>(rest, 5'000'000)));
      }
    }

    HostGpuBackend& owner;
    Device& device;
    bool gated = false;
    std::uint64_t free_ns = 0;
    std::tuple<const void*, const void*, std::uint64_t> moved{};
    std::deque<Work> works;
    std::uint64_t reached_ns[kMarks] = {}, reached_version[kMarks] = {}, queued_version[kMarks] = {};
    std::list<Stream*>::iterator place;
  };
  friend struct Stream;

  void advance() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Stream* stream : streams_) moved = stream->step() || moved;
    }
  }
  bool is_pinned(const void* address, std::uint64_t bytes) const {
    const auto* at = static_cast<const unsigned char*>(address);
    auto found = pinned_.upper_bound(const_cast<unsigned char*>(at));
    if (found == pinned_.begin()) return false;
    --found;
    return at + bytes <= found->first + found->second;
  }
  std::uint64_t allocated(const Device& device) {
    const std::lock_guard lock(mutex_);
    std::uint64_t bytes = 0;
    for (const Memory* m : memories_)
      if (m->device == &device) bytes += m->size();
    return bytes;
  }
  Memory* memory_of(const void* address) const {
    for (Memory* m : memories_) {
      const auto* at = static_cast<const unsigned char*>(address);
      if (at >= m->begin() && at < m->begin() + m->size()) return m;
    }
    return nullptr;
  }
  /// Whose memory it is; null = nobody's.
  const Device* gpu_of(const void* address) const {
    const Memory* memory = memory_of(address);
    return memory == nullptr ? nullptr : memory->device;
  }

  HostBackendSettings settings_;
  std::vector<std::unique_ptr<Device>> gpus_;
  std::mutex mutex_;
  std::map<unsigned char*, std::uint64_t> pinned_;
  std::list<Stream*> streams_;
  std::list<Memory*> memories_;
  std::atomic<int> objects_{0};
  unsigned most_held_ = 0;
  std::set<unsigned> touched_;
};

}  // namespace headrace::testing

// What libraries do beside the driver: files, products, images.
#include "tests/unit/host_gpu_libraries.h"
