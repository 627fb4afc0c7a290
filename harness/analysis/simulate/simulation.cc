#include "harness/analysis/simulate/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "harness/base/diagnostics.h"
#include "harness/base/parallel.h"
#include "harness/base/units.h"

namespace headrace::simulate {
namespace {

constexpr double kMore = 1.1;
/// Seeds for each value that is tried with a tenth more: the same ones, so that few are enough.
constexpr unsigned kGainSeeds = 100;
constexpr std::size_t kMoments = 240;

std::vector<Spread> spreads_of(const Work& work, const std::vector<Drawn>& drawn) {
  std::vector<Spread> all;
  for (std::size_t f = 0; f < kFigures; ++f) {
    std::vector<double> values;
    std::array<unsigned, kLimits> votes{};
    for (const Drawn& one : drawn) {
      if (!one.values[f]) continue;
      values.push_back(*one.values[f]);
      ++votes[static_cast<std::size_t>(one.limits[f])];
    }
    if (values.empty()) continue;
    const auto figure = static_cast<Figure>(f);
    all.push_back({quantiles_of(std::move(values)), figure, work.required(figure),
                   static_cast<Limit>(std::ranges::max_element(votes) - votes.begin())});
  }
  return all;
}

/// The multiple of the required value; below 1 it is missed.
double ratio_of(const Spread& s) {
  return kind_of(s.figure).more_is_better ? s.median / *s.required : *s.required / std::max(s.median, 1e-12);
}

/// The seeds of one scale, on all threads.
class Runner {
 public:
  Runner(const SimulationPlan& plan, const std::function<void(double)>& progress) : plan_(plan), progress_(progress) {
    for (const job::Job& job : plan.jobs) all_ += job.cluster.nodes * plan.seeds;
  }
  void expect(double nodes_of_seeds) { all_ += nodes_of_seeds; }

  std::vector<Drawn> draw(const Work& work, const System& system, unsigned seeds) {
    std::vector<Drawn> drawn(seeds);
    const Scenarios scenarios(work, system);
    std::atomic<unsigned> ready{0};
    parallel_for(
        seeds, plan_.threads,
        [&](unsigned, std::uint64_t i) {
          drawn[i] = scenarios.draw(mix(plan_.seed) + i);
          ++ready;
        },
        [&] {
          if (progress_) progress_((done_ + ready * work.nodes) / all_);
        });
    done_ += seeds * work.nodes;
    return drawn;
  }

 private:
  const SimulationPlan& plan_;
  const std::function<void(double)>& progress_;
  double done_ = 0, all_ = 0;
};

/// The values of which a tenth more may help here.
std::vector<std::string> improvable(const System& system) {
  std::vector<std::string> keys;
  for (const SheetKey& key : sheet_keys()) {
    if (!key.more_helps && !key.less_helps) continue;
    const auto measured = [&](const char* path, const Supply& supply) {
      return key.path == path && !supply.measured.empty();
    };
    const bool given = system.sheet.has(key.path);
    if (given || measured("store.read", system.read) || measured("store.read", system.restore) ||
        measured("store.write", system.save) || measured("store.opens", system.opens) ||
        measured("client.read", system.read) || measured("client.read", system.restore) ||
        measured("client.write", system.save))
      keys.emplace_back(key.path);
  }
  return keys;
}

System improved(const System& system, const std::string& name) {
  System better = system;
  const SheetKey& key = *std::ranges::find(sheet_keys(), name, &SheetKey::path);
  const bool all = name == "store.servers" || name == "store.imbalance";
  if (all || name == "store.read") better.read.store_times = better.restore.store_times = kMore;
  if (all || name == "store.write") better.save.store_times = kMore;
  if (all || name == "store.opens") better.opens.store_times = kMore;
  if (name == "client.read") better.read.client_times = better.restore.client_times = kMore;
  if (name == "client.write") better.save.client_times = kMore;
  if (name == "client.opens") better.opens.client_times = kMore;
  if (!name.starts_with("store.r") && system.sheet.has(name))
    better.sheet.values[name] = key.more_helps ? system.sheet.at(name) * kMore : system.sheet.at(name) / kMore;
  return better;
}

void add_gains(const SimulationPlan& plan, const Work& work, Runner& runner, Simulation& out) {
  const Scale& largest = out.scales.back();
  const Spread* tight = largest.tightest();
  const bool missed = tight != nullptr && ratio_of(*tight) < 1;
  if (missed)
    out.gained = tight->figure;
  else if (largest.find(Figure::goodput) == nullptr)
    out.gained = largest.find(Figure::later_epochs_busy) != nullptr ? Figure::later_epochs_busy : Figure::save_time;
  const auto median = [&](const System& system) -> double {
    for (const Spread& s : spreads_of(work, runner.draw(work, system, std::min(plan.seeds, kGainSeeds))))
      if (s.figure == out.gained) return s.median;
    return 0;
  };
  const double before = median(plan.system);
  if (before <= 0) return;
  for (const std::string& key : improvable(plan.system)) {
    Gain gain{.key = key, .from = before, .to = median(improved(plan.system, key))};
    gain.gain = kind_of(out.gained).more_is_better ? gain.to / before - 1 : before / gain.to - 1;
    if (const auto price = plan.system.sheet.prices.find(key); price != plan.system.sheet.prices.end())
      gain.price = price->second;
    if (gain.gain >= 1e-3) out.gains.push_back(gain);
  }
  const bool priced = std::ranges::all_of(out.gains, [](const Gain& g) { return g.price > 0; });
  std::ranges::stable_sort(out.gains, std::greater<>(),
                           [priced](const Gain& g) { return priced ? g.gain / g.price : g.gain; });
}

void add_breaks(Simulation& out) {
  for (std::size_t f = 0; f < kFigures; ++f) {
    Break many{.figure = static_cast<Figure>(f)}, few = many;  // misses with many nodes; with few
    bool few_miss = false, held = false;
    for (const Scale& scale : out.scales) {
      const Spread* s = scale.find(many.figure);
      if (s == nullptr || !s->required) continue;
      if (s->is_expected_to_miss()) {
        if (many.nodes <= 0) many.nodes = scale.nodes;
        many.limit = s->limit;
        if (!held) few.limit = s->limit;
        few_miss = few_miss || !held;
      } else {
        if (!held) few.holds_from = scale.nodes;
        held = true;
        many.holds_to = scale.nodes;
        many.nodes = 0;
      }
    }
    if (few_miss && held) out.breaks.push_back(few);
    if (many.nodes > 0) out.breaks.push_back(many);
  }
  std::ranges::stable_sort(out.breaks, {}, [](const Break& b) { return std::pair(b.nodes <= 0, b.nodes); });
}

/// Evenly over time, each as it was at that moment.
std::vector<Moment> thinned(const StormResult& storm) {
  if (storm.moments.size() <= kMoments) return storm.moments;
  std::vector<Moment> few;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kMoments; ++i) {
    const double when = storm.end_s * static_cast<double>(i) / (kMoments - 1.0);
    while (at + 1 < storm.moments.size() && storm.moments[at + 1].at_s <= when) ++at;
    few.push_back(storm.moments[at]);
    few.back().at_s = when;
  }
  return few;
}

/// "GPUs busy: expected 31.2 % [30, 33], needed 90 %", "restore: expected 45.3 s [40.1, 50.3], needed 30 s": a line of 80
/// columns has room for it.
std::string expected(const Spread& s) {
  const FigureKind& kind = kind_of(s.figure);
  const bool share = kind.unit == "ratio";
  const double times = share ? 100 : 1;
  const char* const unit = share ? "%" : "s";
  const std::string_view title = kind.title.starts_with("time to ") ? kind.title.substr(8) : kind.title;
  return fmt::format("{}: expected {:.3g} {} [{:.3g}, {:.3g}], needed {:.3g} {}", title, times * s.median, unit,
                     times * s.low, times * s.high, times * *s.required, unit);
}

std::string nodes_in_words(double nodes) { return fmt::format("{:.0f} node{}", nodes, nodes == 1 ? "" : "s"); }

void conclude(Simulation& out) {
  const Scale& largest = out.scales.back();
  const bool fails = std::ranges::any_of(largest.figures, &Spread::fails);
  out.word = fails ? Outcome::fail : Outcome::inconclusive;
  const Spread* s = nullptr;
  for (const Spread& one : largest.figures)
    if (one.required && (!fails || one.fails()) && (s == nullptr || ratio_of(one) < ratio_of(*s))) s = &one;
  if (s == nullptr) {
    out.sentence = fmt::format("no limit of the job could be simulated on {}.", nodes_in_words(largest.nodes));
    return;
  }
  out.sentence = fmt::format("on {}, {}.", nodes_in_words(largest.nodes), expected(*s));
  if (!out.breaks.empty() && out.breaks.front().nodes > 0) {
    const Break& first = out.breaks.front();
    out.cause = fmt::format(
        "First limit: {} at {}{}, in the {}.", to_string(first.limit), nodes_in_words(first.nodes),
        first.holds_to > 0 ? fmt::format(" ({:.0f} still work{})", first.holds_to, first.holds_to == 1 ? "s" : "") : "",
        kind_of(first.figure).scenario);
  } else {
    out.cause = "No limit is missed; only a measurement on this number of nodes can pass.";
  }
}

void add_missing(const System& system, const Work& work, Simulation& out) {
  const auto lacks = [&](const Supply& supply, bool asked, const char* what, const char* measure) {
    if (asked && !supply.known())
      out.missing.push_back(
          fmt::format("{}: neither measured nor stated; measure it with headrace run -c "
                      "configs/sizing.yaml, or give {} in a sheet",
                      what, measure));
  };
  lacks(system.read, work.read > 0, "epochs", "store.read");
  lacks(system.save, work.checkpoint > 0, "saves", "store.write");
  lacks(system.restore, work.checkpoint > 0, "restores", "store.read");
  lacks(system.opens, work.opens > 0, "opening of files", "store.opens");
}

bool is_shown(const System& system, const Work& work) {
  const auto shown = [&](const Supply& supply, bool asked) {
    return !asked || !supply.known() || work.nodes <= supply.shown_to();
  };
  return shown(system.read, work.read > 0) && shown(system.opens, work.opens > 0) &&
         shown(system.save, work.checkpoint > 0) && shown(system.restore, work.checkpoint > 0);
}

}  // namespace

const Spread* Scale::find(Figure figure) const {
  const auto found = std::ranges::find(figures, figure, &Spread::figure);
  return found == figures.end() ? nullptr : &*found;
}

const Spread* Scale::tightest() const {
  const Spread* least = nullptr;
  for (const Spread& s : figures)
    if (s.required && (least == nullptr || ratio_of(s) < ratio_of(*least))) least = &s;
  return least;
}

void check(const SimulationPlan& plan) {
  Diagnostics problems;
  const System& system = plan.system;
  const Sheet& sheet = system.sheet;
  const job::Job& job = plan.jobs.back();
  if (!system.read.known() && !system.save.known() && !system.restore.known())
    problems.error({},
                   "simulate: nothing is known of a shared store: give --runs of a shared file system, or a --sheet "
                   "with store.read or store.write");
  if (sheet.has("network.nodes_per_switch") && job.fabric && job.fabric->oversubscription != 1 &&
      std::abs(job.fabric->oversubscription / sheet.at("network.oversubscription") - 1) > 0.01)
    problems.error(
        sheet.has("network.oversubscription") ? sheet.place("network.oversubscription")
                                              : sheet.place("network.nodes_per_switch"),
        fmt::format(
            "network.oversubscription: {:g} contradicts the job's fabric.oversubscription of {:g}: must be {:g}",
            sheet.at("network.oversubscription"), job.fabric->oversubscription, job.fabric->oversubscription));
  if (sheet.has("client.nic")) {
    const auto contradicts = [&](const Supply& supply, const char* what) {
      for (const Counted& c : supply.measured)
        if (c.low / c.clients > sheet.at("client.nic"))
          return problems.error(
              sheet.place("client.nic"),
              fmt::format("client.nic: {} contradicts {}: {:.0f} client{} got {} each: must be at least that",
                          format_in_unit(sheet.at("client.nic"), "B/s"), what, c.clients, c.clients == 1 ? "" : "s",
                          format_in_unit(c.low / c.clients, "B/s")));
    };
    contradicts(system.read, "the measured reads");
    contradicts(system.save, "the measured saves");
    contradicts(system.restore, "the measured restores");
  }
  const double per_switch = sheet.at("network.nodes_per_switch");
  for (const job::Job& one : plan.jobs) {
    const double n = one.cluster.nodes;
    if (per_switch <= 0 || n <= per_switch || std::fmod(n, per_switch) == 0) continue;
    const double below = std::floor(n / per_switch) * per_switch;
    problems.error(
        sheet.place("network.nodes_per_switch"),
        fmt::format("network.nodes_per_switch: {:.0f} nodes do not divide into switches of {:.0f}: nearest are "
                    "{:.0f} and {:.0f}",
                    n, per_switch, below, below + per_switch));
  }
  std::vector<Work> works;
  for (const job::Job& one : plan.jobs) works.push_back(work_of(one));
  // A deadline is impossible where the nodes themselves are too slow at every scale.
  const auto deadline = [&](Figure figure, std::string_view rate, const char* key, double overhead,
                            double Work::*bytes) {
    if (!works.back().required(figure)) return;
    double least = HUGE_VAL;
    for (const Work& work : works)
      least = std::min(least, least_time(sheet, rate, work.*bytes / work.nodes) + overhead);
    const double allowed = *works.back().required(figure);
    const auto seconds = [](double s) { return format_quantity(s, Dimension::seconds); };
    if (least > allowed)
      problems.error({},
                     fmt::format("{}: {} is impossible: a node alone takes {} with an idle store, at every number of "
                                 "nodes asked for; nearest: {}",
                                 key, seconds(allowed), seconds(least), seconds(least)));
  };
  if (job.checkpoint && works.back().checkpoint > 0) {
    deadline(Figure::save_time, "client.write", "checkpoint.stall", job.checkpoint->overhead, &Work::checkpoint);
    deadline(Figure::restore_time, "client.read", "checkpoint.restore", job.checkpoint->restore_overhead,
             &Work::restore);
  }
  problems.throw_if_any();
}

Simulation simulate(const SimulationPlan& plan, const std::function<void(double)>& progress) {
  Simulation out;
  Runner runner(plan, progress);
  const Work largest = work_of(plan.jobs.back());
  runner.expect(static_cast<double>(improvable(plan.system).size() + 1) * std::min(plan.seeds, kGainSeeds) *
                largest.nodes);
  for (const job::Job& job : plan.jobs) {
    const Work work = work_of(job);
    out.scales.push_back({.nodes = work.nodes,
                          .gpus = job.cluster.gpus(),
                          .figures = spreads_of(work, runner.draw(work, plan.system, plan.seeds)),
                          .shown = is_shown(plan.system, work)});
  }
  add_breaks(out);
  add_gains(plan, largest, runner, out);
  add_missing(plan.system, largest, out);
  if (const StormResult storm = Scenarios(largest, plan.system).storm(mix(plan.seed)); !storm.moments.empty()) {
    out.storm = kind_of(plan.system.restore.known() ? Figure::restore_time : Figure::save_time).scenario;
    out.moments = thinned(storm);
  }
  conclude(out);
  return out;
}

}  // namespace headrace::simulate
