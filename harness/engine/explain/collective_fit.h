// Latency and bandwidth of a collective from its times at several sizes, and their consequences for a job. Formulas F1
// to F5 and F18 to F22 with measured numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/collective.h"
#include "harness/job/job.h"
#include "harness/job/needs.h"

namespace headrace {

/// A fitted number, and its bounds with 95 %; no `high`: the data set no bound.
struct Fitted {
  double value = 0, low = 0;
  std::optional<double> high;
  Fitted scaled(double by) const;
};

/// t = fixed_s + bytes / bytes_per_s.
struct CollectiveFit {
  Fitted fixed_s, bytes_per_s;
  double worst_error = 0;  // of a measured time to the fitted one, relative
  double seconds(double bytes) const { return fixed_s.value + bytes / bytes_per_s.value; }
};

/// Least squares of relative errors over (message size [B], time [s]); bounds by Student's t. At
/// least three sizes, else nothing, and nothing when larger messages do not take longer.
std::optional<CollectiveFit> fit_collective(const std::vector<std::pair<double, double>>& times);

/// Messages that follow each other in a ring of `ranks`, before the last has all.
double hops(Collective what, double ranks);

/// The collective as a ring of equal links: latency of a hop [s], and bytes/s of each rank's link.
/// Of an all-reduce: formula F3.
struct LinkModel {
  Collective what = Collective::all_reduce;
  double ranks = 0;
  Fitted alpha_s, bytes_per_s;
};
LinkModel link_model(const CollectiveFit& fit, Collective what, unsigned ranks);
/// The time of one call among `ranks`.
double ring_time(const LinkModel& model, double ranks, double bytes);

/// The time of one of the job's collectives by such a model.
struct JobPrediction {
  std::string need;                       // "network.gradient_busbw"
  double message_bytes = 0;               // of one call, among ...
  double ranks = 0;                       // ... the job's own group
  double calls = 0;                       // per step
  double ring_s = 0;                      // one call: F3; of other operations the same model, with F1's factor
  std::optional<double> tree_s;           // F4, of all-reduce
  std::optional<double> crossover_bytes;  // F5: from this size on the ring is faster
  double step_s = 0;                      // all calls of a step, one after the other
  double hidden_s = 0;                    // F18's window: the part that other work can hide
  double exposed_s = 0;                   // the rest: by this time the step gets longer
  double busbw = 0;                       // of one call, that F18 asks:
  double busbw_required = 0;              // without the safety margin
};
/// `need` has a collective; nothing where it is of one rank.
std::optional<JobPrediction> predict(const LinkModel& model, const job::Need& need);

/// The job's gradients over two kinds of links: within nodes, and between them.
struct FabricPrediction {
  double message_bytes = 0;
  double intra_bytes_per_s = 0, nic_bytes_per_s = 0;  // fitted
  double nic_under_load = 0;                          // F21
  double two_level_s = 0;                             // F19
  double multirail_s = 0;                             // F20
  std::optional<double> nic_efficiency;               // of the line rate
  std::optional<double> nics;                         // F22, at that efficiency
};
/// `intra` and `inter`: all-reduce among the ranks of a node, and among one rank of each. Nothing
/// for jobs whose gradients stay on a node, or that have none.
std::optional<FabricPrediction> predict_fabric(const LinkModel& intra, const LinkModel& inter, const job::Job& job,
                                               std::span<const job::Need> needs);

/// One collective at several sizes: the measurements, the fit, the conclusions.
struct CollectiveCurve {
  std::string workload;
  std::vector<std::string> points;               // by size
  std::vector<std::pair<double, double>> times;  // message size [B], time [s]
  unsigned ranks = 0;
  CollectiveFit fit;
  LinkModel link;
  std::vector<JobPrediction> job;
  std::optional<FabricPrediction> fabric;
};

}  // namespace headrace
