// How needs are put together from applied formulas; used by the files that derive them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "harness/requirements/formula.h"
#include "harness/requirements/needs.h"

namespace headrace::requirements {

/// A formula whose inputs may come from other formulas: "F18 of F6".
class Derivation {
 public:
  Derivation(std::string_view formula, std::initializer_list<NamedValue> values);
  /// `input` of this derivation came from `other`, whose equation is told too.
  Derivation& of(std::string_view input, const Derivation& other);

  double value() const { return steps_.front().applied.value(); }
  const Formula& formula() const { return *steps_.front().applied.formula; }

 private:
  friend class NeedList;
  struct Step {
    std::string_view symbol;  // of the input that this step gives; "" for the first
    Applied applied;
  };
  std::vector<Step> steps_;
};

/// A cluster's value divided evenly: the share of one of `count` "nodes" or "gpus".
struct Share {
  double count = 1;
  std::string_view of = {};
};

/// Where a need comes from when no formula of the reference gives its value as it is.
struct Explanation {
  std::string formula, equation, substituted;
  std::vector<std::pair<std::string, double>> inputs;
};

class NeedList {
 public:
  /// `texts`: also write equations. The safety margin is the job's.
  NeedList(const Job& job, bool texts) : job_(job), texts_(texts) {}

  Need& add(std::string_view id, Scope scope, const Derivation& derivation, Share share = {});
  Need& add(std::string_view id, Scope scope, double required, std::string_view unit,
            Explanation why);
  bool texts() const { return texts_; }
  std::vector<Need> take() { return std::move(needs_); }

 private:
  const Job& job_;
  bool texts_;
  std::vector<Need> needs_;
};

void add_ingest_needs(const Job& job, NeedList& needs);
void add_host_needs(const Job& job, NeedList& needs);
void add_checkpoint_needs(const Job& job, NeedList& needs);
void add_network_needs(const Job& job, NeedList& needs);

/// The required sample rate of the whole job: A1 of A2.
Derivation sample_rate_of(const Job& job);

}  // namespace headrace::requirements
