// Groups of GPUs whose memory is host memory: an operation is done once every rank has queued it, and never when one
// has not. For everything around NCCL that needs no GPU; ranks may be threads of one process.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "harness/backends/nccl.h"
#include "harness/base/clock.h"
#include "harness/base/error.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/hollow_memory.h"

namespace headrace::testing {

/// What all processes of a test share.
struct NcclFabric {
  struct Operation {
    std::vector<NcclBuffers> buffers;  // by rank
    std::vector<bool> queued;
    unsigned missing = 0;
  };
  struct Group {
    unsigned size = 0, joined = 0;
    std::vector<std::uint64_t> queued;  // operations by rank
    std::map<std::uint64_t, Operation> open;
    std::uint64_t done = 0;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Group> groups;
  unsigned ids = 0, met = 0;
  unsigned registered = 0, windows = 0, graphs = 0;  // buffers of members, and starts by graphs
  std::string no_registration, no_windows, no_memory, refuses_memory;
  bool takes_buffers = true;
  std::uint64_t from_nccl = 0;           // bytes that NCCL's allocator gave
  bool corrupts = false, drops = false;  // it does nothing
  std::uint64_t corrupts_byte = 0;       // of the last rank's result
  double busbw = 0;                      // not 0: operations take their time, and that of each copy
  std::uint64_t join_ns = 0;             // that joining takes
  bool hollow = false;                   // nothing is moved
  double operation_s = 0;                // that each takes; where it is more than the patience, it fails
  std::string log;                       // what it would write
  bool listens = false;
  std::string no_f8e5m2;

  /// That an operation of a group of `size` takes [s].
  double takes(const NcclCalls& calls, unsigned size) const {
    constexpr double kLatency_s = 20e-6;
    const double bytes = static_cast<double>(calls.count * layout_of(calls.element).bytes);
    return operation_s + (busbw > 0 ? kLatency_s + bus_factor(calls.what, size) * bytes / busbw : 0);
  }

  /// What NCCL leaves, from what every rank brought. Sources are copied first: in place.
  static void perform(const NcclCalls& calls, const std::vector<NcclBuffers>& buffers) {
    const auto n = static_cast<unsigned>(buffers.size());
    const NcclElement e = calls.element;
    const std::uint64_t count = calls.count, part = count / n, each = layout_of(e).bytes;
    std::vector<std::vector<unsigned char>> in(n);
    for (unsigned r = 0; r < n; ++r) {
      const auto* from = static_cast<const unsigned char*>(buffers[r].in);
      in[r].assign(from, from + count * each);
    }
    const auto reduced = [&](std::uint64_t i) {
      float all = element_value(bits_at(in[0].data(), i, e), e);
      for (unsigned r = 1; r < n; ++r) {
        const float one = element_value(bits_at(in[r].data(), i, e), e);
        all = calls.reduction == NcclReduction::max   ? std::max(all, one)
              : calls.reduction == NcclReduction::min ? std::min(all, one)
                                                      : all + one;
      }
      return all;
    };
    for (unsigned r = 0; r < n; ++r) {
      auto* out = static_cast<unsigned char*>(buffers[r].out);
      const bool in_place = buffers[r].in == buffers[r].out;
      const auto move = [&](std::uint64_t to, const std::vector<unsigned char>& from, std::uint64_t at,
                            std::uint64_t elements) {
        std::memcpy(out + to * each, from.data() + at * each, elements * each);
      };
      switch (calls.what) {
        case Collective::reduce:
          if (r != 0) break;
          [[fallthrough]];
        case Collective::all_reduce:
          for (std::uint64_t i = 0; i < count; ++i) put_element(out, i, reduced(i), e);
          break;
        case Collective::gather:
          if (r != 0) break;
          [[fallthrough]];
        case Collective::all_gather:
          for (unsigned s = 0; s < n; ++s) move(s * part, in[s], in_place ? s * part : 0, part);
          break;
        case Collective::reduce_scatter:
          for (std::uint64_t i = 0; i < part; ++i)
            put_element(out, (in_place ? r * part : 0) + i, reduced(r * part + i), e);
          break;
        case Collective::scatter:
          move(in_place ? r * part : 0, in[0], r * part, part);
          break;
        case Collective::broadcast:
          move(0, in[0], 0, count);
          break;
        case Collective::all_to_all:
          for (unsigned s = 0; s < n; ++s) move(s * part, in[s], r * part, part);
          break;
        case Collective::all_to_all_v:
          for (unsigned s = 0, own = static_cast<unsigned>(calls.parts[r + 1] - calls.parts[r]); s < n; ++s)
            move(std::uint64_t{s} * own, in[s], calls.parts[r], own);
          break;
        case Collective::send_recv:
          move(0, in[(r + n - 1) % n], 0, count);
          break;
      }
    }
  }
};

class HostNcclGroup final : public NcclGroup {
 public:
  HostNcclGroup(std::shared_ptr<NcclFabric> fabric, std::string id, unsigned size, std::span<const NcclMember> members,
                double timeout_s)
      : fabric_(std::move(fabric)), id_(std::move(id)), size_(size), members_(members.begin(), members.end()) {
    std::unique_lock lock(fabric_->mutex);
    pass_until(now_ns() + fabric_->join_ns);
    NcclFabric::Group& group = own();
    group.size = size;
    group.queued.resize(size);
    group.joined += static_cast<unsigned>(members_.size());
    fabric_->changed.notify_all();
    if (!fabric_->changed.wait_for(lock, std::chrono::duration<double>(timeout_s),
                                   [&] { return own().joined == size_; }))
      throw RunError("NCCL: join: did not end in time");
  }
  unsigned size() const override { return size_; }

  void start(const NcclCalls& calls, std::span<const NcclBuffers> buffers) override {
    calls_ = calls;
    done_ = 0;
    if (calls.graph) ++fabric_->graphs;
    for (std::uint64_t i = 0; i < calls.times; ++i) queue(buffers);
  }
  void queue(std::span<const NcclBuffers> buffers) {
    const std::lock_guard lock(fabric_->mutex);
    NcclFabric::Group& group = own();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const unsigned rank = members_[i].rank;
      NcclFabric::Operation& operation = group.open[group.queued[rank]++];
      if (operation.buffers.empty()) {
        operation.buffers.resize(size_);
        operation.missing = size_;
      }
      operation.buffers[rank] = buffers[i];
      if (--operation.missing > 0) continue;
      if (!fabric_->hollow && !fabric_->drops) {
        const NoTime none;
        NcclFabric::perform(calls_, operation.buffers);
      }
      if (fabric_->corrupts) static_cast<unsigned char*>(operation.buffers[size_ - 1].out)[fabric_->corrupts_byte] ^= 4;
      group.open.erase(group.done++);
      fabric_->changed.notify_all();
    }
  }
  bool register_buffers(std::span<const NcclMemory> buffers, NcclRegistration how) override {
    const std::lock_guard lock(fabric_->mutex);
    for (const NcclMemory& one : buffers)
      (how == NcclRegistration::windows ? fabric_->windows : fabric_->registered) += static_cast<unsigned>(one.size());
    return fabric_->takes_buffers;
  }
  NcclTimes wait() override {
    std::unique_lock lock(fabric_->mutex);
    NcclTimes times{.begin_ns = now_ns(), .batch_end_ns = {}};
    if (calls_.meet) ++fabric_->met;
    const auto done = [&] { return own().done >= own().queued[members_.front().rank]; };
    if (!fabric_->changed.wait_for(lock, std::chrono::duration<double>(calls_.patience_s), done))
      throw RunError("NCCL: operation: did not end in time");
    done_ = calls_.times;
    std::uint64_t end_ns = now_ns();
    for (std::uint64_t b = 0; b < calls_.times; b += calls_.batch) {
      const double batch_s =
          fabric_->takes(calls_, size_) * static_cast<double>(std::min(calls_.batch, calls_.times - b));
      if (batch_s > calls_.patience_s) throw RunError("NCCL: operation: did not end in time");
      times.batch_end_ns.push_back((end_ns += static_cast<std::uint64_t>(1e9 * batch_s)) + b);
    }
    pass_until(end_ns);
    return times;
  }
  std::uint64_t done() const override { return done_; }
  std::string mode() const override { return "by the test"; }
  void abort() noexcept override { aborted = true; }
  bool aborted = false;

 private:
  NcclFabric::Group& own() { return fabric_->groups[id_]; }
  std::shared_ptr<NcclFabric> fabric_;
  std::string id_;
  unsigned size_;
  std::vector<NcclMember> members_;
  NcclCalls calls_;
  std::atomic<std::uint64_t> done_{0};
};

class HostNcclBackend : public NcclBackend {
 public:
  explicit HostNcclBackend(std::shared_ptr<NcclFabric> fabric, std::string version = "0.0.0")
      : fabric_(std::move(fabric)), version_(std::move(version)) {}
  std::optional<std::string> unusable() const override { return std::nullopt; }
  std::string version() const override { return version_; }
  std::string why_not(NcclElement element) const override {
    return element == NcclElement::f8e5m2 ? fabric_->no_f8e5m2 : "";
  }
  std::string why_not(NcclRegistration how) const override {
    return how == NcclRegistration::none      ? ""
           : how == NcclRegistration::buffers ? fabric_->no_registration
                                              : fabric_->no_windows;
  }
  std::string why_no_memory() const override { return fabric_->no_memory; }
  std::unique_ptr<GpuMemory> allocate(unsigned, std::uint64_t bytes) override {
    if (!fabric_->refuses_memory.empty()) throw RunError(fabric_->refuses_memory);
    const std::lock_guard lock(fabric_->mutex);
    fabric_->from_nccl += bytes;
    return std::make_unique<Memory>(fabric_->hollow, bytes);
  }
  std::string make_id() override {
    const std::lock_guard lock(fabric_->mutex);
    return "group " + std::to_string(fabric_->ids++);
  }
  void listen() override {
    const std::lock_guard lock(fabric_->mutex);
    fabric_->listens = true;
  }
  std::string heard() override {
    const std::lock_guard lock(fabric_->mutex);
    fabric_->listens = false;
    return fabric_->log;
  }
  std::vector<std::string> settings() const override { return {"NCCL_ALGO=Ring"}; }
  std::unique_ptr<NcclGroup> join(const std::string& id, unsigned size, std::span<const NcclMember> members,
                                  double timeout_s) override {
    return std::make_unique<HostNcclGroup>(fabric_, id, size, members, timeout_s);
  }

 private:
  struct Memory final : GpuMemory {
    Memory(bool is_hollow, std::uint64_t bytes) {
      if (is_hollow)
        hollow.emplace(bytes);
      else
        held.assign(bytes, 0xdd);
      begin_ = hollow ? hollow->begin() : held.data();
      size_ = bytes;
    }
    std::optional<HollowMemory> hollow;
    std::vector<unsigned char> held;
  };
  std::shared_ptr<NcclFabric> fabric_;
  const std::string version_;
};

}  // namespace headrace::testing
