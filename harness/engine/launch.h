// Were several processes launched together (mpirun, srun), and how they meet.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/record/ranks/ranks.h"

namespace headrace {

class Backends;

namespace ranks {

/// The launcher's environment.
struct Launched {
  unsigned rank = 0, size = 1;
  bool several() const { return size > 1; }
};

/// By OMPI_COMM_WORLD_*, PMI_*, PMIX_* with Slurm's numbers, FLUX_*, JSM_NAMESPACE_* (jsrun). Throws UsageError when
/// several processes may have been started that cannot meet, or whose number is unknown.
Launched launched();

/// Host names by which ranks belong to one node: as `names`. Different hosts with one name, as containers may have,
/// become "node" and "node-2". `kernels`: the identity of the running kernel (boot_id).
std::vector<std::string> hosts_of(const std::vector<std::string>& names, const std::vector<std::string>& kernels);

/// The processes of this launch, met.
struct Meeting {
  std::shared_ptr<Ranks> ranks;
  std::vector<std::pair<std::string, std::string>> facts;  // for the run file
};

/// Starts MPI and gathers everyone within `timeout_s`; from then on a process that is silent for `silence_s` is lost.
/// Throws RanksError when a process does not join, and UsageError when others have another version of headrace. In the
/// process that measures, once.
Meeting meet(Backends& backends, const Launched& launched, double timeout_s, double silence_s);

/// Leaves in order: a last word from everyone, then MPI_Finalize. False: not everyone came, or MPI
/// hung, so the process must end without it.
bool part(Backends& backends, Meeting& meeting, double timeout_s);

}  // namespace ranks
}  // namespace headrace
