#include "harness/engine/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "harness/backends/collective.h"
#include "harness/backends/loader.h"
#include "harness/base/diagnostics.h"
#include "harness/base/system/kernel_files.h"
#include "harness/base/version.h"
#include "harness/engine/watched.h"
#include "harness/machine/network/host_addresses.h"
#include "harness/workload/ranks/hub.h"
#include "harness/workload/ranks/member.h"

namespace headrace::ranks {
namespace {

/// MPI itself does not name the host that it cannot reach.
constexpr const char* kNoWay =
    "a process did not start, hangs, or MPI cannot connect two hosts. Check firewalls, and interfaces with the same "
    "address on every host, such as docker0: select others by OMPI_MCA_btl_tcp_if_include and "
    "OMPI_MCA_oob_tcp_if_include. `headrace bringup --hosts FILE` measures each pair without MPI";

std::optional<unsigned> number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  unsigned value = 0;
  const char* end = text + std::strlen(text);
  const auto [at, failed] = std::from_chars(text, end, value);
  if (failed != std::errc() || at != end) return std::nullopt;
  return value;
}

std::string host_name() {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return name;
}

/// Rank 0's hub lives as long as any view of the ranks.
struct Both {
  std::unique_ptr<Hub> hub;
  std::unique_ptr<Ranks> ranks;
};

/// `step` on a thread of its own, within `timeout_s`.
void within(const std::string& what, double timeout_s, const std::string& hint, std::function<void()> step) {
  EngineLimits limits;
  limits.stall_s = timeout_s;
  const engine::WatchedEnd end =
      engine::run_watched(what, limits, {}, [step = std::move(step)](const DataProgress&) { step(); });
  if (end.hung) throw RanksError(fmt::format("TIMEOUT: {} did not end within {:g} s; {}", what, timeout_s, hint));
}

void same_versions(Ranks& ranks, double timeout_s) {
  const std::string own = fmt::format("{} ({})", kVersion, kRevision);
  const auto all = ranks.all_gather("comparing versions", own, timeout_s);
  for (unsigned r = 0; r < all.size(); ++r) {
    if (all[r] != all[0])
      throw UsageError(fmt::format("{} runs headrace {}, {} runs {}: install the same on all hosts", ranks.who(0),
                                   all[0], ranks.who(r), all[r]));
  }
}

}  // namespace

Launched launched() {
  const auto named = [](const char* rank, const char* size) -> std::optional<Launched> {
    const auto r = number(rank), n = number(size);
    if (!r || !n || *r >= *n) return std::nullopt;
    return Launched{*r, *n};
  };
  if (const auto l = named("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")) return *l;
  if (const auto l = named("PMI_RANK", "PMI_SIZE")) return *l;
  if (const auto l = named("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE")) return *l;
  if (const auto l = named("PMIX_RANK", "SLURM_STEP_NUM_TASKS")) return *l;
  if (const auto l = named("FLUX_TASK_RANK", "FLUX_JOB_SIZE")) return *l;
  if (const auto l = named("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE")) return *l;
  if (const auto l = named("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"); l && l->several())
    throw UsageError(
        fmt::format("srun started {} processes that cannot meet: use srun --mpi=pmix (srun --mpi=list shows the "
                    "choices), or mpirun",
                    l->size));
  if (number("PMIX_RANK") && !number("SLURM_STEP_NUM_TASKS"))  // prun
    throw UsageError(
        "the launcher (PMIx) does not report the number of processes, so each would run alone: use mpirun, or srun "
        "--mpi=pmix");
  return {};
}

std::vector<std::string> hosts_of(const std::vector<std::string>& names, const std::vector<std::string>& kernels) {
  std::map<std::string, std::vector<std::string>> alike;  // the kernels under each name, in the order of ranks
  std::vector<std::string> hosts;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::string>& known = alike[names[i]];
    auto at = std::find(known.begin(), known.end(), kernels[i]);
    if (at == known.end()) at = known.insert(known.end(), kernels[i]);
    hosts.push_back(at == known.begin() ? names[i] : fmt::format("{}-{}", names[i], at - known.begin() + 1));
  }
  return hosts;
}

Meeting meet(Backends& backends, const Launched& launched, double timeout_s, double silence_s) {
  if (const std::string why = backends.why_not(Gives::messages); !why.empty())
    throw UsageError(fmt::format("{} processes were launched together, but {}", launched.size, why));
  MessagePassing& mpi = backends.mpi();
  const std::string self = fmt::format("rank {} ({})", launched.rank, host_name());
  within("MPI_Init of " + self, timeout_s, kNoWay, [&mpi] { mpi.start(); });
  if (mpi.size() != launched.size)
    throw UsageError(fmt::format(
        "the launcher says {} processes, MPI says {}: mpirun and the MPI library that headrace "
        "was built with ({}) do not belong together{}",
        launched.size, mpi.size(), mpi.facts().front().second,
        std::getenv("SLURM_JOB_ID") == nullptr ? ""
                                               : "; under srun use srun --mpi=pmix (srun --mpi=list lists the kinds)"));
  const auto said = std::make_shared<std::vector<std::string>>();
  const auto ask = [&](const std::string& what, const std::string& own) {
    within(what + " of " + self, timeout_s, kNoWay, [&mpi, said, own] { *said = mpi.all_gather(own); });
    return *said;
  };
  const std::vector<std::string> names = ask("the exchange of host names", host_name());
  const std::vector<RankPlace> places = places_of(hosts_of(
      names, ask("the exchange of kernels", system::read_line("/proc/sys/kernel/random/boot_id").value_or(""))));
  std::vector<std::string> hosts;
  for (const RankPlace& p : places) hosts.push_back(p.host);
  // Else connections reach the one or the other by chance, and a third host seems to be at fault.
  if (const std::string fault = shared_address_fault(ask("the exchange of IP addresses", packed_addresses()), hosts);
      !fault.empty())
    throw RanksError(fault);
  auto both = std::make_shared<Both>();
  if (launched.rank == 0) both->hub = std::make_unique<Hub>(places, silence_s);
  const std::string address = ask("the exchange of addresses", both->hub ? both->hub->address().packed() : "").front();
  both->ranks = join(HubAddress::unpacked(address), mpi.rank(), places, silence_s, timeout_s);
  Meeting meeting;
  meeting.ranks = std::shared_ptr<Ranks>(both, both->ranks.get());
  meeting.facts = mpi.facts();
  meeting.facts.emplace_back("ranks", std::to_string(places.size()));
  meeting.facts.emplace_back("hosts", fmt::format("{}", fmt::join(std::set(hosts.begin(), hosts.end()), " ")));
  meeting.facts.emplace_back("host_of_rank", fmt::format("{}", fmt::join(hosts, " ")));
  meeting.ranks->barrier("meeting", timeout_s);
  same_versions(*meeting.ranks, timeout_s);
  return meeting;
}

bool part(Backends& backends, Meeting& meeting, double timeout_s) {
  try {
    meeting.ranks->barrier("the end of the run", timeout_s);
    MessagePassing& mpi = backends.mpi();
    within("MPI_Finalize", timeout_s, "a process hangs", [&mpi] { mpi.stop(); });
    return true;
  } catch (const RunError&) {
    return false;
  }
}

}  // namespace headrace::ranks
