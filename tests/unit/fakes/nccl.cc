// NCCL between GPUs that are host memory (host_nccl.h) as a plugin, for the whole program. What is not as usual stands in the file
// of fakes/gpus.cc: "* * nccl_busbw 100000000000" [B/s], "* * nccl_join_ms 2000", "* * nccl_corrupts 3108", a byte of the last
// rank's result. Several processes meet in the file that HEADRACE_FAKE_NCCL names; then nothing is moved between them ("hollow").
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "harness/backends/plugin.h"
#include "tests/unit/fake_gpu_lines.h"
#include "tests/unit/host_nccl.h"

namespace headrace::testing {
namespace {

/// Zeros at first.
struct Meeting {
  static constexpr std::size_t kGroups = 8192, kRanks = 16;
  struct Group {
    std::atomic<unsigned> joined;
    std::array<std::atomic<std::uint64_t>, kRanks> queued;  // operations
    std::atomic<std::uint64_t> ready_ns;  // the time at which the last rank had joined, or queued its operations
  };
  std::atomic<unsigned> ids;
  std::array<Group, kGroups> groups;

  static Meeting* open(const char* name) {
    const int file = name == nullptr ? -1 : ::open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, sizeof(Meeting)) != 0) return nullptr;
    void* place = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return place == MAP_FAILED ? nullptr : static_cast<Meeting*>(place);
  }
};

class MetGroup final : public NcclGroup {
 public:
  MetGroup(std::shared_ptr<NcclFabric> fabric, Meeting::Group& group, unsigned size,
           std::span<const NcclMember> members, double timeout_s)
      : fabric_(std::move(fabric)), group_(group), size_(size), members_(members.begin(), members.end()) {
    if (size > Meeting::kRanks) throw RunError("the tests' NCCL has 16 ranks");
    if ((group_.joined += static_cast<unsigned>(members_.size())) == size_) group_.ready_ns = now_ns();
    until([this] { return group_.ready_ns != 0; }, timeout_s);
    pass_until(group_.ready_ns + fabric_->join_ns);
  }
  unsigned size() const override { return size_; }
  void start(const NcclCalls& calls, std::span<const NcclBuffers>) override {
    calls_ = calls;
    done_ = 0;
    for (const NcclMember& m : members_) target_ = group_.queued[m.rank] += calls.times;
    if (all_queued()) group_.ready_ns = now_ns();  // nobody goes on before all have waited
  }
  NcclTimes wait() override {
    until([this] { return all_queued(); }, calls_.patience_s);
    done_ = calls_.times;
    NcclTimes times{.begin_ns = group_.ready_ns, .batch_end_ns = {}};
    std::uint64_t end_ns = times.begin_ns;
    for (std::uint64_t b = 0; b < calls_.times; b += calls_.batch) {
      const auto now = static_cast<double>(std::min(calls_.batch, calls_.times - b));
      times.batch_end_ns.push_back(end_ns += static_cast<std::uint64_t>(1e9 * now * fabric_->takes(calls_, size_)));
    }
    pass_until(end_ns);
    return times;
  }
  bool register_buffers(std::span<const NcclMemory>, NcclRegistration) override { return true; }
  std::uint64_t done() const override { return done_; }
  std::string mode() const override { return "by the test"; }
  void abort() noexcept override {}

 private:
  bool all_queued() const {
    return std::all_of(group_.queued.begin(), group_.queued.begin() + size_,
                       [this](const auto& count) { return count >= target_; });
  }
  template <class Condition>
  static void until(Condition met, double timeout_s) {
    const std::uint64_t last_ns = now_ns() + static_cast<std::uint64_t>(1e9 * timeout_s);
    while (!met()) {
      if (now_ns() > last_ns) throw RunError("NCCL: did not end in time");
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  std::shared_ptr<NcclFabric> fabric_;
  Meeting::Group& group_;
  unsigned size_;
  std::vector<NcclMember> members_;
  NcclCalls calls_;
  std::uint64_t target_ = 0;
  std::atomic<std::uint64_t> done_{0};
};

class MetBackend final : public HostNcclBackend {
 public:
  MetBackend(std::shared_ptr<NcclFabric> fabric, std::string version, Meeting& meeting)
      : HostNcclBackend(fabric, std::move(version)), fabric_(std::move(fabric)), meeting_(meeting) {}
  std::string make_id() override { return std::to_string(meeting_.ids++ % Meeting::kGroups); }
  std::unique_ptr<NcclGroup> join(const std::string& id, unsigned size, std::span<const NcclMember> members,
                                  double timeout_s) override {
    return std::make_unique<MetGroup>(fabric_, meeting_.groups.at(std::stoul(id)), size, members, timeout_s);
  }

 private:
  std::shared_ptr<NcclFabric> fabric_;
  Meeting& meeting_;
};

class FakeNccl final : public Plugin {
 public:
  std::string version() const override { return "a test's"; }
  std::unique_ptr<NcclBackend> nccl_backend() override {
    const auto fabric = std::make_shared<NcclFabric>();
    for (const FakeGpuLine& line : lines_of_this_host()) {
      if (line.key == "nccl_busbw") fabric->busbw = std::stod(line.value);
      if (line.key == "nccl_join_ms") fabric->join_ns = std::stoull(line.value) * 1'000'000;
      if (line.key == "hollow") fabric->hollow = line.value != "0";
      if (line.key != "nccl_corrupts") continue;
      fabric->corrupts = true;
      fabric->corrupts_byte = std::stoull(line.value);
    }
    if (Meeting* const meeting = Meeting::open(std::getenv("HEADRACE_FAKE_NCCL")); meeting != nullptr)
      return std::make_unique<MetBackend>(fabric, "2.28.9", *meeting);
    return std::make_unique<HostNcclBackend>(fabric, "2.28.9");
  }
};

}  // namespace
}  // namespace headrace::testing

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::testing::FakeNccl plugin;
  return &plugin;
}
