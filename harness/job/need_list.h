// How needs are put together from applied formulas; used by the files that derive them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "harness/job/formula.h"
#include "harness/job/needs.h"

namespace headrace::job {

/// A formula whose inputs may come from other formulas: "F18 of F6".
class Derivation {
 public:
  Derivation(std::string_view formula, std::initializer_list<NamedValue> values);
  explicit Derivation(Applied applied);
  /// `input` of this derivation came from `other`, whose equation is reported too.
  Derivation& of(std::string_view input, const Derivation& other);

  double value() const { return steps_.front().applied.value(); }
  const Formula& formula() const { return *steps_.front().applied.formula; }

 private:
  friend class NeedList;
  struct Step {
    std::string_view symbol;  // of the input that this step gives; "" for the first
    std::string name;         // of that input, in words
    Applied applied;
  };
  std::vector<Step> steps_;
};

/// A factor on a derivation's value: the even share of one of the "nodes" or "gpus", or a multiple.
struct Share {
  double count = 1;
  std::string_view of = {};
  bool multiply = false;
};

/// Where a need comes from when no formula of the reference gives its value as it is.
struct Explanation {
  std::string formula, equation, named, substituted;
  std::vector<std::pair<std::string, double>> inputs;
};

class NeedList {
 public:
  /// `texts`: also write equations. The safety margin is the job's.
  NeedList(const Job& job, bool texts) : job_(job), texts_(texts) {}

  /// Does the job have these keys, given or derived? If not, the needs `ids` are locked.
  bool have(std::initializer_list<std::string_view> ids, std::initializer_list<std::string_view> keys);

  Need& add(std::string_view id, Scope scope, const Derivation& derivation, Share share = {});
  Need& add(std::string_view id, Scope scope, double required, std::string_view unit, Explanation why);
  /// At cluster scope, and the even share of each node.
  void add_shared(std::string_view id, const Derivation& derivation);

  bool texts() const { return texts_; }
  std::vector<Need> take() { return std::move(needs_); }
  std::vector<LockedNeed> take_locked() { return std::move(locked_); }

 private:
  const Job& job_;
  bool texts_;
  std::vector<Need> needs_;
  std::vector<LockedNeed> locked_;
};

/// What several groups of needs start from.
struct Basis {
  explicit Basis(const Job& job);
  Derivation sample_rate;     // A1 of A2, of the whole job
  Derivation read_bandwidth;  // A3, nothing cached
};

void add_ingest_needs(const Job& job, const Basis& basis, NeedList& needs);
void add_host_needs(const Job& job, const Basis& basis, NeedList& needs);
void add_checkpoint_needs(const Job& job, NeedList& needs);
void add_network_needs(const Job& job, NeedList& needs);
// Those above are of the first table in docs/reference/needs.md, those below of the second.
void add_local_cache_needs(const Job& job, const Basis& basis, NeedList& needs);
void add_object_store_needs(const Job& job, const Basis& basis, NeedList& needs);
void add_model_parallel_needs(const Job& job, NeedList& needs);
void add_fabric_needs(const Job& job, NeedList& needs);
void add_goodput_needs(const Job& job, const Basis& basis, NeedList& needs);
void add_cost_needs(const Job& job, NeedList& needs);

/// A3 with a cache that serves `hit` of the reads.
Derivation read_bandwidth_of(const Job& job, double sample_rate, double hit);
/// E1.
Derivation checkpoint_size_of(const Job& job);
/// E7 or E5: the rate that a save must write at.
Derivation checkpoint_write_of(const Job& job, double checkpoint_bytes);
/// F6, F7 or F8: bytes that each of `ranks` sends per step to keep the replicas equal.
Derivation gradient_bytes_of(const Job& job, double ranks);
/// A collective of groups of `ranks`, neighbours `stride` apart. Ranks are placed on nodes with tensor-parallel
/// neighbours first, then context, replicas, pipeline stages.
JobCollective collective_of(const Job& job, double message, double ranks, double stride);
/// That of the gradients of groups of `ranks`.
JobCollective gradient_collective_of(const Job& job, double ranks);
/// The least and the most time of one all-reduce of such a size in such groups (F28). Locked where the job does not
/// have the rates of its links.
void add_call_times(const Job& job, NeedList& needs, const JobCollective& calls, std::string_view least,
                    std::string_view most);
/// F18 of the above.
Derivation gradient_busbw_of(const Job& job, double ranks);

}  // namespace headrace::job
