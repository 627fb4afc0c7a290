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

/// What the launcher's environment says.
struct Launched {
  unsigned rank = 0, size = 1;
  bool several() const { return size > 1; }
};

/// By OMPI_COMM_WORLD_*, PMI_*, PMIX_* with Slurm's numbers, FLUX_*, JSM_NAMESPACE_* (jsrun). Throws UsageError when several
/// processes may have been started without a way for them to meet, or without knowing how many.
Launched launched();

/// Names of hosts by which ranks are asked to be of one node: as `names`, but for hosts that are called alike and are not the
/// same, as containers may be ("node", "node-2"). `kernels`: what distinguishes one running kernel from every other (boot_id).
std::vector<std::string> hosts_of(const std::vector<std::string>& names, const std::vector<std::string>& kernels);

/// The processes of this launch, met.
struct Meeting {
  std::shared_ptr<Ranks> ranks;
  std::vector<std::pair<std::string, std::string>> facts;  // for the run file
};

/// Starts MPI and gathers everyone within `timeout_s`; from then on a process that is silent for
/// `silence_s` is lost. Throws RanksError when somebody does not come, and UsageError when others
/// have another version of headrace. In the process that measures, once.
Meeting meet(Backends& backends, const Launched& launched, double timeout_s, double silence_s);

/// Leaves in order: a last word from everyone, then MPI_Finalize. False: not everyone came, or MPI
/// hung, so the process must end without it.
bool part(Backends& backends, Meeting& meeting, double timeout_s);

}  // namespace ranks
}  // namespace headrace
