#include "harness/observe/nccl/nccl_looks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "harness/base/clock.h"
#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/base/system/kernel_files.h"
#include "harness/base/system/own_addresses.h"
#include "harness/observe/nccl/nccl_ask.h"
#include "harness/observe/nccl/nccl_inspector.h"
#include "harness/observe/nccl/nccl_place.h"
#include "harness/observe/sampling/sampler_watched.h"

namespace headrace::observe {
namespace {

constexpr std::size_t kMostPids = 512;                              // whose environment is read
constexpr std::size_t kKeptLooks = 40;                              // the newest
constexpr std::size_t kKeptRanks = 1 << 21;                         // of all of them
constexpr double kSearchEvery = 1, kAskEvery = 1, kAskSeldom = 10;  // [s]
constexpr std::size_t kOftenAsked = 12;                             // answers; later ones are a while apart
constexpr double kTimesAnswer = 20, kLongestPause = 30;             // an answer that takes long is asked for seldom
constexpr double kMostSearching = 0.01;                             // of a processor
constexpr int kPatientAsks = 2;                                     // without an answer

double wall_s() {
  timespec t;
  ::clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

/// Belongs to both threads.
struct NcclLooks::Found {
  const std::string proc;
  const std::uint64_t began_ns;
  const double began_wall_s = wall_s();
  std::mutex mutex;
  std::vector<int> pids;
  std::set<int> own;  // numbers of the job's processes in their own containers
  NcclSeen seen;
  system::UniqueFd folder;  // of Inspector's files
  std::set<std::string> reported;
  bool absent = false;  // the job sets NCCL's variables, and no server listens

  Found(std::string at, std::uint64_t began) : proc(std::move(at)), began_ns(began) {}
  /// Each once.
  void report(const std::string& fact) {
    const std::lock_guard lock(mutex);
    if (seen.facts.size() < 8 && reported.insert(fact).second) seen.facts.push_back(fact);
  }
};

/// The thread's work.
class NcclLooks::Asking {
 public:
  explicit Asking(std::shared_ptr<Found> found) : found_(std::move(found)) {}

  void run(Beside::Life& life) {
    double cpu_s = thread_cpu_s();
    while (!life.over()) {
      const double pause_s = look(life);
      const double before_s = std::exchange(cpu_s, thread_cpu_s());
      life.count_cpu();
      life.pause(std::max(pause_s, (cpu_s - before_s) / kMostSearching));
    }
  }

 private:
  /// The pause until the next.
  double look(Beside::Life& life) {
    const std::optional<Place> place = search();
    if (refused_ || !place) return refused_ ? kAskSeldom : kSearchEvery;
    if (!enter(place->pid)) {
      refused_ = true;
      return kAskSeldom;
    }
    const std::uint64_t asked_ns = now_ns();
    const NcclReply reply = ask_nccl(place->at, [&life] { return life.over(); });
    const double at_s = static_cast<double>(now_ns() - found_->began_ns) * 1e-9;
    {
      const std::lock_guard lock(found_->mutex);
      found_->seen.address = place->at.text();
    }
    if (!reply.json)
      refuse(*place, reply.refused, reply.silent, life.over());
    else
      accept(*place, *reply.json, at_s);
    const double every = answers_ < kOftenAsked ? kAskEvery : kAskSeldom;
    return std::max(every, std::min(kLongestPause, kTimesAnswer * seconds_since(asked_ns)));
  }

  struct Place {
    int pid = 0;
    system::SocketAddress at;
  };

  /// The first process that listens for RAS; also finds Inspector's files.
  std::optional<Place> search() {
    std::vector<int> pids;
    {
      const std::lock_guard lock(found_->mutex);
      pids = found_->pids;
    }
    std::optional<Place> place;
    std::set<int> own;
    for (const int pid : pids) {
      const auto environment = system::read_text(fmt::format("{}/{}/environ", found_->proc, pid));
      if (!environment) continue;
      own.insert(pid_inside(found_->proc, pid));
      const NcclSettings settings = nccl_settings(*environment);
      look_for_inspector(pid, settings);
      if (!settings.ras)
        found_->report("NCCL's RAS service is off (NCCL_RAS_ENABLE=0): NCCL was not asked about its ranks");
      any_settings_ = any_settings_ || settings.any;
      if (place || !settings.ras || settings.port == 0) continue;
      if (const auto at = ras_address(found_->proc, pid, settings.port)) place = Place{pid, *at};
    }
    const std::lock_guard lock(found_->mutex);
    found_->own.insert(own.begin(), own.end());
    found_->absent = any_settings_ && !place && found_->seen.address.empty();
    return place;
  }

  void look_for_inspector(int pid, const NcclSettings& settings) {
    if (settings.inspector_for_prometheus)
      found_->report("NCCL's Inspector writes for Prometheus (NCCL_INSPECTOR_PROM_DUMP=1): its files were not read");
    if (settings.inspector_folder.empty()) return;
    const std::lock_guard lock(found_->mutex);
    if (!found_->folder) found_->folder = open_for_process(found_->proc, pid, settings.inspector_folder);
  }

  /// The network of the process. Of this thread alone.
  bool enter(int pid) {
    const auto network = [this](const std::string& who) {
      std::error_code error;
      return std::filesystem::read_symlink(fmt::format("{}/{}/ns/net", found_->proc, who), error).string();
    };
    const std::string its = network(std::to_string(pid));
    if (its.empty() || its == network("thread-self")) return true;
    const system::UniqueFd there(::open(fmt::format("{}/{}/ns/net", found_->proc, pid).c_str(), O_RDONLY | O_CLOEXEC));
    if (there && ::setns(there.get(), CLONE_NEWNET) == 0) return true;
    found_->report(
        fmt::format("process {} has a network of its own (a container), which only root may enter: its NCCL was "
                    "not asked how far ranks are ({})",
                    pid, errno_text(errno)));
    return false;
  }

  void refuse(const Place& place, const std::string& why, bool silent, bool over) {
    if (silent && over) return;
    if (!silent && answers_ > 0) return;  // a service that answered before ends with its job
    if (silent && ++silent_ < kPatientAsks) return;
    refused_ = true;
    found_->report(
        fmt::format("process {} listens at {}, where NCCL's RAS service is: {}", place.pid, place.at.text(), why));
  }

  void accept(const Place& place, const std::string& json, double at_s) {
    std::string why;
    std::optional<NcclLook> look = read_nccl_answer(json, why);
    if (!look) return refuse(place, "its answer was refused: " + why, false, false);
    look->at_s = at_s;
    if (look->communicators.empty()) return;  // none is there yet
    if (!mark_own(*look)) return refuse(place, "no rank that it lists is a process of this job", true, false);
    ++answers_;
    silent_ = 0;
    const std::lock_guard lock(found_->mutex);
    NcclSeen& seen = found_->seen;
    ++seen.answers;
    seen.looks.push_back(*std::move(look));
    const auto ranks = [](const NcclLook& one) {
      std::size_t sum = 0;
      for (const NcclCommunicator& all : one.communicators) sum += all.ranks.size() + all.missing.size();
      return sum;
    };
    std::size_t kept = 0;
    for (const NcclLook& one : seen.looks) kept += ranks(one);
    while (seen.looks.size() > kKeptLooks || (kept > kKeptRanks && seen.looks.size() > 1)) {
      kept -= ranks(seen.looks.front());
      seen.looks.erase(seen.looks.begin());
    }
  }

  /// Is any of its ranks a watched process? A port may be shared by several jobs.
  bool mark_own(NcclLook& look) {
    const std::vector<std::string> addresses = system::own_addresses();
    const std::lock_guard lock(found_->mutex);
    bool any = false;
    const auto mark = [&](auto& rank) {
      rank.own =
          found_->own.contains(rank.pid) && std::find(addresses.begin(), addresses.end(), rank.host) != addresses.end();
      any = any || rank.own;
    };
    for (NcclCommunicator& one : look.communicators) {
      for (NcclRank& rank : one.ranks) mark(rank);
      for (NcclMissing& rank : one.missing) mark(rank);
    }
    return any;
  }

  const std::shared_ptr<Found> found_;
  std::size_t answers_ = 0;
  int silent_ = 0;
  bool refused_ = false, any_settings_ = false;
};

NcclLooks::NcclLooks(const std::string& proc, std::uint64_t began_ns)
    : found_(std::make_shared<Found>(proc, began_ns)),
      thread_([found = found_](Beside::Life& life) { Asking(found).run(life); }) {}

void NcclLooks::watch(int pid) {
  const std::lock_guard lock(found_->mutex);
  if (found_->pids.size() < kMostPids) found_->pids.push_back(pid);
}

NcclSeen NcclLooks::take() {
  NcclSeen seen;
  std::set<int> own;
  system::UniqueFd folder;
  {
    const std::lock_guard lock(found_->mutex);
    seen = found_->seen;
    own = found_->own;
    folder = std::move(found_->folder);
    if (found_->absent && seen.facts.empty())
      seen.facts.push_back(
          "no process of the job listens where NCCL's RAS service would: NCCL was not asked about its ranks");
  }
  if (folder) read_inspector(folder.get(), own, found_->began_wall_s, seen);
  return seen;
}

}  // namespace headrace::observe
