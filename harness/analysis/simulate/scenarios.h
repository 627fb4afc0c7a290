// A job on a system with that many nodes, once for each seed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/analysis/simulate/fluid.h"
#include "harness/analysis/simulate/sheet.h"
#include "harness/job/job.h"

namespace headrace::simulate {

/// The limit: a part of the system, or of the job.
enum class Limit { none, store, opens, uplink, nic, slots, client, slow_node, refused, input, saves, failures };
inline constexpr std::size_t kLimits = 12;
std::string_view to_string(Limit limit);

/// The figures of a simulation, in the order of the output.
enum class Figure {
  first_epoch_busy,
  later_epochs_busy,
  step_time,
  wall_clock_busy,
  save_time,
  save_of_one_replica,
  save_copy,
  save_drain,
  save_during_reading,
  busy_during_save,
  restore_time,
  goodput
};
inline constexpr std::size_t kFigures = 12;
struct FigureKind {
  std::string_view id, scenario, title, unit;  // "restore_time", "restart storm", "time to restore", "s"
  bool more_is_better = true;
};
const FigureKind& kind_of(Figure figure);

/// A job with one number of nodes, and its demand on the system.
struct Work {
  job::Job job;
  double nodes = 1;
  double read = 0, later_read = 0;    // [B/s] that a node needs, of the first epoch and of later ones
  double opens = 0, later_opens = 0;  // [1/s] metadata operations of a node
  double checkpoint = 0, largest_writer = 1, restore = 0;  // [B] of all nodes; restore 0: there is no checkpoint
  /// The required figure; nothing where the job gives no such limit.
  std::optional<double> required(Figure figure) const;
};
Work work_of(job::Job job);

/// The figures of one seed; a figure that nothing was known for has no value.
struct Drawn {
  std::array<std::optional<double>, kFigures> values;
  std::array<Limit, kFigures> limits{};
};

class Scenarios {
 public:
  Scenarios(const Work& work, const System& system) : work_(work), system_(system) {}
  Drawn draw(std::uint64_t seed) const;
  /// The restart storm, or else the save, with every change of rates; empty: neither is known.
  StormResult storm(std::uint64_t seed) const;

 private:
  struct Nodes;
  const Work& work_;
  const System& system_;
};

/// The least time in which one node moves `bytes` as its sheet states it, for any store. 0: no limit is stated. `rate`:
/// "client.read" or "client.write".
double least_time(const Sheet& sheet, std::string_view rate, double bytes);

}  // namespace headrace::simulate
