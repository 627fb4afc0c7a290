// Collective operations of GPUs over NCCL, timed as nccl-tests times them: many in a row, queued on every GPU, until the
// last is done. One workload per operation, all made here.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/backends/nccl.h"
#include "harness/backends/ranks.h"
#include "harness/workload.h"
#include "workloads/network/expected_sums.h"

extern char** environ;

namespace headrace::network {

inline constexpr std::array kNcclMetrics{
    Metric{"busbw", "B/s", Better::higher, "Formula F1: algbw times 2 (n-1)/n, (n-1)/n or 1, by the operation"},
    Metric{"algbw", "B/s", Better::higher, "message_size over the time of one operation"},
    Metric{"time_s", "s", Better::lower, "One operation: elapsed time over their number, the slowest GPU's"},
};

/// One GPU per rank; where this process is alone, all GPUs that it sees.
template <Collective kWhat>
class NcclCollective final : public Workload {
 public:
  explicit NcclCollective(Params& p)
      : message_size_(p.bytes("message_size", 25_MiB, {.min = 8, .max = static_cast<double>(16_GiB), .multiple_of = 4},
                              "bytes of one operation; of the whole buffer where each rank has a part of it")),
        in_place_(p.flag("in_place", kWhat != Collective::all_to_all && kWhat != Collective::send_recv,
                         "the result replaces what is sent, as frameworks do")),
        calls_(p.count("calls", 0, {.min = 0, .max = 1e7}, "of one repetition; 0: as many as take about 0.2 s")),
        batch_(p.count("batch", 20, {.min = 1, .max = 1000}, "queued at once, then waited for")),
        join_s_(p.seconds("join_timeout", 60, {.min = 0.1, .max = 3600}, "for all ranks to be there, and connected")),
        patience_s_(p.seconds("peer_timeout", 30, {.min = 0.1, .max = 3600}, "for what is queued at once to end")) {
    if (in_place_ && (kWhat == Collective::all_to_all || kWhat == Collective::send_recv))
      p.conflict("in_place", "cannot be: what is sent is still needed when the result comes");
  }

  static std::span<const Metric> metrics() { return kNcclMetrics; }
  Footprint footprint() const override { return {}; }

  std::optional<Skip> check(Node& node) override {
    for (const char* backend : {"nccl", "cuda"})
      if (std::string why = node.backends().why_not(backend); !why.empty()) return Skip{std::move(why)};
    const unsigned here = node.backends().gpu().count(), n = group_size(node);
    if (n < 2) return Skip{"one GPU moves nothing between GPUs: needs two, or several ranks (mpirun -n 8 headrace run ...)"};
    unsigned sharing = 0;
    const Ranks& ranks = node.ranks();
    for (const RankPlace& p : ranks.places()) sharing += p.node == ranks.places()[ranks.rank()].node;
    if (ranks.size() > 1 && sharing > here)
      return Skip{fmt::format("{} ranks share {} GPUs of {}: NCCL wants a GPU for each", sharing, here, ranks.host(ranks.rank()))};
    if (message_size_ / sizeof(float) < n && has_parts(kWhat))
      return Skip{fmt::format("message_size: {} bytes are less than one element for each of {} ranks", message_size_, n)};
    return std::nullopt;
  }

  void prepare(Node& node, const DataProgress&) override {
    ranks_ = &node.ranks();
    broken_.clear();
    NcclBackend& nccl = node.backends().nccl();
    GpuBackend& gpus = node.backends().gpu();
    const unsigned n = group_size(node);
    count_ = message_size_ / sizeof(float);
    if (has_parts(kWhat)) count_ -= count_ % n;
    std::vector<NcclMember> members;
    if (ranks_->size() > 1) members = {{ranks_->rank(), ranks_->places()[ranks_->rank()].local_rank}};
    else
      for (unsigned i = 0; i < n; ++i) members.push_back({i, i});
    const std::string id = ranks_->broadcast("name the group", 0, ranks_->rank() == 0 ? nccl.make_id() : "", kWords_s);
    for (const NcclMember& m : members) ends_.push_back(std::make_unique<End>(gpus.gpu(m.gpu), m, bytes(), in_place_));
    staging_ = gpus.pinned(std::min(bytes(), kPiece), false);
    for (const auto& end : ends_) buffers_.push_back(end->buffers());
    guarded([&] { group_ = nccl.join(id, n, members, join_s_); });
    check_data();
    chosen_ = calls_ != 0 ? calls_ : calls_for(0.2);
    tell_facts(nccl, n);
  }

  void before_phase(unsigned, unsigned, std::uint64_t) override {
    if (!broken_.empty()) throw RunError(broken_);
    for (const auto& end : ends_) fill(*end);
  }
  void before_run(Worker&) override { ranks_->barrier("start together", kWords_s); }

  void run(Worker& worker) override {
    begin_ns_ = end_ns_ = now_ns();
    done_ = 0;
    guarded([&] {
      while (done_ < chosen_) {
        const std::uint64_t now = std::min(batch_, chosen_ - done_);
        for (std::uint64_t i = 0; i < now; ++i) group_->queue(kWhat, buffers_, count_);
        group_->wait(patience_s_);
        done_ += now;
        const std::uint64_t end = now_ns(), each = (end - end_ns_) / now;
        // The GPUs go through a batch by themselves: only its mean is known.
        for (std::uint64_t i = 0; i < now; ++i) worker.recorder.op(end - each, end, bytes());
        end_ns_ = end;
      }
    });
  }

  void report(const Repetition&, MetricSink& sink) const override {
    const double own_s = 1e-9 * static_cast<double>(end_ns_ - begin_ns_) / static_cast<double>(chosen_);
    double time_s = own_s;
    for (const std::string& said : ranks_->all_gather("time of one operation", fmt::format("{}", own_s), kWords_s))
      time_s = std::max(time_s, std::stod(said));
    const double algbw = static_cast<double>(bytes()) / time_s;
    sink.put("busbw", algbw * bus_factor(kWhat, group_->size()));
    sink.put("algbw", algbw);
    sink.put("time_s", time_s);
  }

  std::vector<WrongBlock> verify(const DataProgress&) override {
    check_data();  // once more, after the load; throws
    return {};
  }
  std::vector<std::string> notes() override { return notes_; }
  void cleanup(Node&) override {
    group_.reset();
    buffers_.clear();
    ends_.clear();
    staging_.reset();
  }

 private:
  static constexpr double kWords_s = 60;
  static constexpr std::uint64_t kPiece = std::uint64_t{64} << 20;  // filled and checked at once

  /// One GPU of this process.
  struct End {
    End(Gpu& device, const NcclMember& m, std::uint64_t bytes, bool in_place)
        : gpu(device), member(m), in(device.allocate(bytes)), out(in_place ? nullptr : device.allocate(bytes)), copies(device.stream()) {}
    NcclBuffers buffers() const { return {in->begin(), out ? out->begin() : in->begin()}; }
    Gpu& gpu;
    NcclMember member;
    std::unique_ptr<GpuMemory> in, out;
    std::unique_ptr<GpuStream> copies;
  };

  static unsigned group_size(Node& node) {
    return node.ranks().size() > 1 ? node.ranks().size() : node.backends().gpu().count();
  }
  std::uint64_t bytes() const { return count_ * sizeof(float); }
  ExpectedSums expected(const End& end) const { return {kWhat, end.member.rank, group_->size(), count_}; }

  /// Does what may hang or fail: then the group is ended everywhere, and who was missing is told.
  template <class Step>
  void guarded(Step step) {
    try {
      step();
    } catch (const RunError& e) {
      broken_ = e.what();
      if (group_) group_->abort();
      broken_ += roll_call();
      throw RunError(broken_);
    }
  }
  /// Who does not answer any more, or is behind; "" when that tells nothing.
  std::string roll_call() const {
    if (ranks_->size() == 1) return "";
    if (const std::string lost = ranks_->lost(); !lost.empty()) return "; " + lost;
    try {
      const auto said = ranks_->all_gather("roll call after a failure", std::to_string(done_), patience_s_);
      const auto behind = std::min_element(said.begin(), said.end(), [](const std::string& a, const std::string& b) {
        return std::stoull(a) < std::stoull(b);
      });
      return fmt::format("; all ranks still answer; {} has finished the fewest operations ({})",
                         ranks_->who(static_cast<unsigned>(behind - said.begin())), *behind);
    } catch (const RunError& e) {
      return fmt::format("; {}", e.what());
    }
  }

  /// Calls `piece(first element, how many)` for elements 0..count, in pieces that the staging buffer holds.
  template <class Piece>
  static void in_pieces(std::uint64_t count, Piece piece) {
    constexpr std::uint64_t kMost = kPiece / sizeof(float);
    for (std::uint64_t at = 0; at < count; at += kMost) piece(at, std::min(kMost, count - at));
  }

  void fill(End& end) {
    end.copies->attach();
    const ExpectedSums data = expected(end);
    auto* staged = reinterpret_cast<float*>(staging_->begin());
    in_pieces(count_, [&](std::uint64_t at, std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) staged[i] = data.brought(at + i, in_place_);
      end.copies->copy(end.in->begin() + at * sizeof(float), staged, n * sizeof(float), CopyKind::h2d);
      end.copies->wait();
    });
  }

  void check(End& end) {
    end.copies->attach();
    const ExpectedSums data = expected(end);
    auto* staged = reinterpret_cast<float*>(staging_->begin());
    const unsigned char* out = static_cast<const unsigned char*>(end.buffers().out) + data.first(in_place_) * sizeof(float);
    in_pieces(data.results(), [&](std::uint64_t at, std::uint64_t n) {
      end.copies->copy(staged, out + at * sizeof(float), n * sizeof(float), CopyKind::d2h);
      end.copies->wait();
      for (std::uint64_t i = 0; i < n; ++i) {
        if (const float right = data.result(at + i); staged[i] != right)
          throw RunError(fmt::format("wrong data: rank {} on {}: element {} is {}, must be {}", end.member.rank,
                                     ranks_->host(ranks_->rank()), at + i, staged[i], right));
      }
    });
  }

  /// One operation of known numbers; every result is looked at.
  void check_data() {
    for (const auto& end : ends_) fill(*end);
    ranks_->barrier("check the data", kWords_s + join_s_);
    guarded([&] {
      group_->queue(kWhat, buffers_, count_);
      group_->wait(patience_s_ + join_s_);  // the first operation connects the ranks
    });
    for (const auto& end : ends_) check(*end);
  }

  /// So many operations as take about `seconds`: the same for all ranks.
  std::uint64_t calls_for(double seconds) {
    constexpr unsigned kTried = 5;
    const std::uint64_t begin = now_ns();
    guarded([&] {
      for (unsigned i = 0; i < kTried; ++i) group_->queue(kWhat, buffers_, count_);
      group_->wait(patience_s_);
    });
    const double each_s = std::max(1e-7, 1e-9 * static_cast<double>(now_ns() - begin) / kTried);
    const auto calls = static_cast<std::uint64_t>(std::clamp(seconds / each_s, 5.0, 200'000.0));
    return std::stoull(ranks_->broadcast("the number of operations", 0, std::to_string(calls), kWords_s));
  }

  /// Settings that decide how NCCL goes about it, as it finds them.
  void tell_facts(const NcclBackend& nccl, unsigned n) {
    std::string settings;
    for (char** e = environ; *e != nullptr; ++e)
      if (std::string_view(*e).starts_with("NCCL_")) settings += std::string(settings.empty() ? "" : ", ") + *e;
    notes_ = {fmt::format("NCCL {}, {} GPUs, {}; {}", nccl.version(), n,
                          ranks_->size() > 1 ? fmt::format("a process each on {} nodes", ranks_->nodes()) : "one process",
                          settings.empty() ? "no NCCL_* variable is set: algorithm, protocol and transport are its choice" : settings)};
  }

  const std::uint64_t message_size_;
  const bool in_place_;
  const std::uint64_t calls_, batch_;
  const double join_s_, patience_s_;
  Ranks* ranks_ = nullptr;
  std::uint64_t count_ = 0, chosen_ = 1, done_ = 0, begin_ns_ = 0, end_ns_ = 0;
  std::vector<std::unique_ptr<End>> ends_;
  std::vector<NcclBuffers> buffers_;
  std::unique_ptr<GpuMemory> staging_;
  std::unique_ptr<NcclGroup> group_;  // goes before the memory
  std::string broken_;
  std::vector<std::string> notes_;
};

}  // namespace headrace::network
