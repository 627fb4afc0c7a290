#include "harness/analysis/simulate/scenarios.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/base/quantiles.h"
#include "harness/base/random.h"
#include "harness/job/epoch.h"
#include "harness/job/formula.h"
#include "harness/job/largest_writer.h"
#include "harness/job/needs.h"

namespace headrace::simulate {
namespace {

using job::Need;
using job::Scope;

constexpr double kNoLimit = 1e300;
/// Speeds of nodes, each as likely as the others, and one more of slow nodes.
constexpr unsigned kSpeeds = 8;
/// Where the job does not give its run time.
constexpr double kRunTime = 30 * 86400.0;

constexpr FigureKind kFigureKinds[kFigures] = {
    {"first_epoch_busy", "first epoch", "GPUs busy", "ratio", true},
    {"later_epochs_busy", "later epochs", "GPUs busy", "ratio", true},
    {"step_time", "later epochs", "step time", "s", false},
    {"wall_clock_busy", "later epochs", "GPUs busy, with the pipeline's fill", "ratio", true},
    {"save_time", "save, all ranks", "time to save", "s", false},
    {"save_of_one_replica", "save, one replica", "time to save", "s", false},
    {"save_copy", "save, staged", "wait of all ranks", "s", false},
    {"save_drain", "save, staged", "time until it is stored", "s", false},
    {"save_during_reading", "save during reading", "time to save", "s", false},
    {"busy_during_save", "save during reading", "GPUs busy", "ratio", true},
    {"restore_time", "restart storm", "time to restore", "s", false},
    {"goodput", "failures of the run", "goodput", "ratio", true},
};

constexpr std::string_view kLimitNames[kLimits] = {
    "nothing",    "the store",  "the store's metadata", "switch uplinks", "NICs",  "request slots",
    "one client", "slow nodes", "refused clients",      "input",          "saves", "failures"};

double required_of(std::span<const Need> needs, std::string_view id, Scope scope) {
  for (const Need& need : needs)
    if (need.id == id && need.scope == scope) return need.required;
  return 0;
}

/// The most of one node in a direction, and its limit.
struct Most {
  double rate = kNoLimit;
  Limit limit = Limit::client;
  void at_most(double other, Limit by) {
    if (other < rate) {
      rate = other;
      limit = by;
    }
  }
};

Most most_of_node(const Sheet& sheet, double client) {
  Most most;
  if (sheet.has("client.nic")) most.at_most(sheet.at("client.nic"), Limit::nic);
  if (sheet.has("client.slots"))
    most.at_most(sheet.at("client.slots") * sheet.at("client.connections") * sheet.at("client.request") /
                     sheet.at("client.latency"),
                 Limit::slots);
  if (client > 0) most.at_most(client, Limit::client);
  return most;
}

/// The uplink of one switch; kNoLimit: there is none.
double uplink_of(const System& system) {
  const Sheet& sheet = system.sheet;
  if (!sheet.has("network.nodes_per_switch")) return kNoLimit;
  return sheet.at("network.nodes_per_switch") * sheet.at("client.nic") / sheet.at("network.oversubscription");
}

}  // namespace

std::string_view to_string(Limit limit) { return kLimitNames[static_cast<std::size_t>(limit)]; }
const FigureKind& kind_of(Figure figure) { return kFigureKinds[static_cast<std::size_t>(figure)]; }

Work work_of(job::Job job) {
  Work work;
  const auto needs = job::derive_need_values(job);
  const auto node = [&](std::string_view id) { return required_of(needs, id, Scope::node); };
  work.nodes = job.cluster.nodes;
  work.read = node("ingest.read_bandwidth");
  work.later_read = work.read;
  for (const char* cached : {"ingest.steady_read_bandwidth", "local_cache.storage_bandwidth"})
    for (const Need& need : needs)
      if (need.id == cached && need.scope == Scope::node) work.later_read = need.required;
  work.opens = node("ingest.metadata_rate");
  work.later_opens = work.read > 0 ? work.opens * work.later_read / work.read : 0;
  work.checkpoint = required_of(needs, "checkpoint.size", Scope::cluster);
  if (work.checkpoint > 0) {
    work.largest_writer = job::largest_writer(job, needs);
    work.restore =
        work.checkpoint + (job.checkpoint->weight_readers - 1) * *job.model.parameters * job.model.weight_bytes;
  }
  work.job = std::move(job);
  return work;
}

std::optional<double> Work::required(Figure figure) const {
  switch (figure) {
    case Figure::first_epoch_busy:
    case Figure::later_epochs_busy:
      return job.step.target_utilization;
    case Figure::save_time:
      return job.checkpoint && !job.checkpoint->async ? std::optional(job.checkpoint->stall) : std::nullopt;
    case Figure::save_copy:
      return job.checkpoint && job.checkpoint->async ? std::optional(job.checkpoint->stall) : std::nullopt;
    case Figure::save_drain:
      return job.checkpoint && job.checkpoint->async ? std::optional(job.checkpoint->interval * job.checkpoint->duty)
                                                     : std::nullopt;
    case Figure::restore_time:
      return job.checkpoint ? job.checkpoint->restore : std::nullopt;
    case Figure::goodput:
      return job.checkpoint && job.checkpoint->waste ? std::optional(1 - *job.checkpoint->waste) : std::nullopt;
    default:
      return std::nullopt;
  }
}

double least_time(const Sheet& sheet, std::string_view rate, double bytes) {
  const Most most = most_of_node(sheet, sheet.has(rate) ? sheet.at(rate) : 0);
  return most.rate < kNoLimit ? bytes / most.rate : 0;
}

/// The nodes of one seed: how fast each is, and the store's rate.
struct Scenarios::Nodes {
  Nodes(const Work& work, const System& system, Random& random)
      : work_(work),
        system_(system),
        courses_{course(system.read, random), course(system.save, random), course(system.restore, random),
                 course(system.opens, random)} {
    const double variation = system.sheet.at("client.variation");
    const bool slow = system.sheet.at("client.slow_share") > 0 && system.sheet.at("client.slow_rate") < 1;
    const double deviation = std::sqrt(std::log1p(variation * variation));
    const unsigned kinds = variation <= 0 ? 1 : kSpeeds;
    for (unsigned k = 0; k < kinds; ++k)
      factors_.push_back(kinds == 1 ? 1 : std::exp(deviation * statistics::normal_quantile((k + 0.5) / kinds)));
    if (slow) factors_.push_back(system.sheet.at("client.slow_rate"));
    std::vector<unsigned> order(factors_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, {}, [&](unsigned k) { return factors_[k]; });
    std::vector<unsigned> place(order.size());
    for (unsigned i = 0; i < order.size(); ++i) place[order[i]] = i;
    std::ranges::sort(factors_);
    if (slow) slow_ = place.back();
    kinds_.resize(static_cast<std::size_t>(work.nodes));
    for (unsigned& kind : kinds_) {
      kind = place[kinds == 1 ? 0 : static_cast<unsigned>(random.below(kinds))];
      if (slow && uniform(random) < system.sheet.at("client.slow_share")) kind = slow_;
    }
    slowest_ = *std::ranges::min_element(kinds_);
    seed_ = random.next();
  }

  enum Use { read, save, restore, opens };
  static std::optional<Course> course(const Supply& supply, Random& random) {
    return supply.known() ? std::optional(Course(supply, random)) : std::nullopt;
  }
  bool known(Use use) const { return courses_[use].has_value(); }
  double store(Use use, double clients) const { return courses_[use]->at(clients); }
  Most most(Use use) const { return most_of_node(system_.sheet, courses_[use]->client()); }

  /// The pace of all nodes that each need `read` and `opens`: the slowest decides (A18 of G6).
  std::pair<double, Limit> busy(double read_rate, double open_rate) const {
    if (read_rate <= 0) return {1, Limit::none};
    const double n = work_.nodes;
    Most node = most(read);
    double slowest = node.rate * factors_[slowest_];
    Limit limit = slow_ < factors_.size() && slowest_ == slow_ ? Limit::slow_node : node.limit;
    double backend = store(read, n);
    Limit behind = Limit::store;
    if (open_rate > 0 && known(opens)) {
      const double by_opens = store(opens, n) / open_rate * read_rate;
      if (by_opens < backend) {
        backend = by_opens;
        behind = Limit::opens;
      }
      slowest = std::min(slowest, courses_[opens]->client() / open_rate * read_rate);
    }
    const double per_switch =
        system_.sheet.has("network.nodes_per_switch") ? system_.sheet.at("network.nodes_per_switch") : n;
    const double fabric = std::min(kNoLimit, uplink_of(system_) / std::min(per_switch, n) * n);
    const double supply = job::apply("G6", {{"clients_count", n},
                                            {"per_client_bytes_per_s", std::min(slowest, kNoLimit / n)},
                                            {"backend_bytes_per_s", backend},
                                            {"fabric_bytes_per_s", fabric}})
                              .value();
    if (n * slowest > supply) limit = supply >= backend ? behind : Limit::uplink;
    if (supply >= n * read_rate) limit = Limit::none;
    return {job::apply("A18", {{"supply_bytes_per_s", supply}, {"demand_bytes_per_s", n * read_rate}}).value(), limit};
  }

  /// Nodes that move `bytes` each, `more` times as much the first `first` of them, and begin within `spread`.
  Storm storm(Use use, double writers, double bytes, double spread, double first = 0, double more = 1) const {
    Storm storm;
    const Most node = most(use);
    for (const double factor : factors_) storm.speeds.push_back(node.rate * factor);
    add_uplinks(storm, 1);
    storm.store = [this, use](double clients) { return store(use, clients); };
    storm.most_clients = system_.sheet.at("store.most_clients");
    storm.retry_after_s = system_.sheet.at("store.retry_after");
    storm.retry_most_s = system_.sheet.at("store.retry_most");
    storm.seed = seed_;
    Random random(mix(seed_ + static_cast<unsigned>(use)));
    for (unsigned i = 0; i < writers; ++i)
      storm.flows.push_back({.arrives_s = spread > 0 ? spread * uniform(random) : 0,
                             .bytes = bytes * (i < first ? more : 1),
                             .speed = kinds_[i],
                             .group = group_of(i)});
    return storm;
  }

  Storm save_by_all() const {
    const double n = work_.nodes, each = work_.checkpoint / n, more = work_.largest_writer;
    // The first replica's nodes write more, and the others the rest.
    const double first =
        more > 1 ? std::min(n - 1, std::ceil(work_.job.gpus_per_replica() / work_.job.cluster.gpus_per_node)) : 0;
    const double rest = first > 0 ? std::max(0.0, (work_.checkpoint - first * each * more) / (n - first)) : each;
    if (first > 0 && rest > 0)
      return storm(save, n, rest, system_.sheet.at("client.save_spread"), first, each * more / rest);
    return storm(save, n, each, system_.sheet.at("client.save_spread"));
  }

  /// The save of all nodes while all read on. Rates are shares of the store's time, as reads and writes share it.
  Storm save_during_reading(double read_rate) const {
    const double writing = store(save, work_.nodes), reading = store(read, work_.nodes);
    Storm both = save_by_all();
    const std::vector<double> writers = both.speeds;
    std::vector<double> speeds;
    for (const double speed : writers) speeds.push_back(speed / writing);
    const Most node = most(read);
    for (const double factor : factors_) speeds.push_back(std::min(read_rate, node.rate * factor) / reading);
    std::vector<unsigned> order(speeds.size()), place(speeds.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, [&](unsigned k) { return speeds[k]; });
    for (unsigned i = 0; i < order.size(); ++i) place[order[i]] = i;
    both.speeds.clear();
    for (const unsigned k : order) both.speeds.push_back(speeds[k]);
    for (double& group : both.groups) group /= writing;
    const auto uplinks = static_cast<unsigned>(both.groups.size());
    add_uplinks(both, reading);
    both.store = [](double) { return 1.0; };
    both.most_clients = 0;
    for (Flow& flow : both.flows) {
      flow.bytes /= writing;
      flow.speed = place[flow.speed];
    }
    for (unsigned i = 0; i < work_.nodes; ++i)
      both.flows.push_back(
          {.bytes = HUGE_VAL, .speed = place[factors_.size() + kinds_[i]], .group = uplinks + group_of(i)});
    return both;
  }

  Storm restart() const {
    return storm(restore, work_.nodes, work_.restore / work_.nodes, system_.sheet.at("client.restart_spread"));
  }

  Limit limit_of(const StormResult& result, Use use) const {
    const Limited& l = result.flow_s;
    const double most = std::max({l.client, l.uplink, l.store, l.waiting});
    if (most <= 0) return Limit::none;
    if (l.waiting == most) return Limit::refused;
    if (l.store == most) return Limit::store;
    if (l.uplink == most) return Limit::uplink;
    return this->most(use).limit;
  }
  double slowest_factor() const { return factors_[slowest_]; }

 private:
  unsigned group_of(unsigned node) const {
    const double per_switch = system_.sheet.at("network.nodes_per_switch");
    return per_switch > 0 ? static_cast<unsigned>(node / per_switch) : 0;
  }
  void add_uplinks(Storm& storm, double unit) const {
    if (const double uplink = uplink_of(system_); uplink < kNoLimit)
      storm.groups.insert(storm.groups.end(), group_of(static_cast<unsigned>(work_.nodes) - 1) + 1, uplink / unit);
  }

  const Work& work_;
  const System& system_;
  std::array<std::optional<Course>, 4> courses_;
  std::vector<double> factors_;  // ascending
  std::vector<unsigned> kinds_;  // of each node: an index into factors_
  unsigned slow_ = ~0u, slowest_ = 0;
  std::uint64_t seed_ = 0;
};

namespace {

/// Share of the run's time in which GPUs did work that was kept.
struct Run {
  double busy = 1, stall_s = 0, drain_s = 0, restart_s = 0;
};
double goodput_of(const job::Job& job, const Run& run, Random& random) {
  const double interval = job.checkpoint->interval, cycle = interval + run.stall_s;
  if (!job.cluster.mtbf) return run.busy * interval / cycle;
  const double mtbf = *job.cluster.mtbf;
  const double length = job.cluster.run_time.value_or(kRunTime);
  double now = 0, kept = 0;
  while (now < length) {
    double lives = -mtbf * std::log(1 - uniform(random));
    if (now > 0) {  // restarts can fail, too
      if (lives < run.restart_s) {
        now += lives;
        continue;
      }
      now += run.restart_s;
      lives -= run.restart_s;
    }
    const bool to_end = now + lives >= length;
    const double until = to_end ? std::max(0.0, length - now) : lives;
    const double cycles = std::floor(std::max(0.0, until - (to_end ? 0 : run.drain_s)) / cycle);
    kept += cycles * interval;
    if (to_end) kept += std::min(interval, until - cycles * cycle);
    now += lives;
  }
  return run.busy * std::min(1.0, kept / length);
}

/// The part that takes the most of the lost time.
Limit largest_loss(const job::Job& job, const Run& run) {
  const double saves = run.stall_s / (job.checkpoint->interval + run.stall_s);
  const double failures =
      job.cluster.mtbf ? (job.checkpoint->interval / 2 + run.drain_s + run.restart_s) / *job.cluster.mtbf : 0;
  const double input = 1 - run.busy, most = std::max({saves, failures, input});
  return most < 1e-9 ? Limit::none : most == input ? Limit::input : most == saves ? Limit::saves : Limit::failures;
}

void put(Drawn& drawn, Figure figure, double value, Limit limit) {
  drawn.values[static_cast<std::size_t>(figure)] = value;
  drawn.limits[static_cast<std::size_t>(figure)] = limit;
}

template <class Nodes>
Drawn figures(const Work& work, const System& system, const Nodes& nodes, Random& random) {
  Drawn out;
  const job::Job& job = work.job;
  Run whole;
  if (nodes.known(Nodes::read)) {
    const auto [first, first_limit] = nodes.busy(work.read, work.opens);
    put(out, Figure::first_epoch_busy, first, first_limit);
    const auto [later, limit] = nodes.busy(work.later_read, work.later_opens);
    whole.busy = later;
    put(out, Figure::later_epochs_busy, whole.busy, limit);
    put(out, Figure::step_time, job.step.time / std::max(whole.busy, 1e-12), limit);
    const double supply = std::min(nodes.store(Nodes::read, work.nodes), work.nodes * nodes.most(Nodes::read).rate);
    if (const auto wall = job::priced_wall_clock_of(job, supply, whole.busy))
      put(out, Figure::wall_clock_busy, wall->utilization, limit);
  }
  if (work.checkpoint <= 0) return out;
  const job::Job::Checkpoint& plan = *job.checkpoint;
  if (nodes.known(Nodes::save)) {
    const StormResult all = run(nodes.save_by_all());
    const Limit limit = nodes.limit_of(all, Nodes::save);
    put(out, Figure::save_time, all.end_s + plan.overhead, limit);
    whole.stall_s = all.end_s + plan.overhead;
    const double replica = std::min(work.nodes, std::ceil(job.gpus_per_replica() / job.cluster.gpus_per_node));
    if (replica < work.nodes) {
      const StormResult one = run(nodes.storm(Nodes::save, replica, work.checkpoint / replica, 0));
      put(out, Figure::save_of_one_replica, one.end_s + plan.overhead, nodes.limit_of(one, Nodes::save));
    }
    double drain = all.end_s;
    if (nodes.known(Nodes::read) && work.later_read > 0) {
      const StormResult both = run(nodes.save_during_reading(work.later_read));
      drain = both.end_s;
      put(out, Figure::save_during_reading, both.end_s + plan.overhead, nodes.limit_of(both, Nodes::save));
      const double reading = nodes.store(Nodes::read, work.nodes);
      double least = HUGE_VAL;
      for (std::size_t i = both.bytes.size() - static_cast<std::size_t>(work.nodes); i < both.bytes.size(); ++i)
        least = std::min(least, both.bytes[i]);
      put(out, Figure::busy_during_save, std::min(1.0, least * reading / (work.later_read * both.end_s)), limit);
    }
    const bool staged = system.sheet.has("client.staging");
    const double copy = !staged ? plan.stall
                                : work.checkpoint / work.nodes * work.largest_writer /
                                      (system.sheet.at("client.staging") * nodes.slowest_factor());
    if (staged) put(out, Figure::save_copy, copy, Limit::client);
    if (staged || plan.async) put(out, Figure::save_drain, drain, limit);
    if (plan.async) {
      whole.stall_s = copy;
      whole.drain_s = drain;
    }
  }
  if (nodes.known(Nodes::restore)) {
    const StormResult storm = run(nodes.restart());
    whole.restart_s = storm.end_s + plan.restore_overhead;
    put(out, Figure::restore_time, whole.restart_s, nodes.limit_of(storm, Nodes::restore));
    whole.restart_s += job.cluster.restart.value_or(0);
  }
  if (nodes.known(Nodes::save) && nodes.known(Nodes::restore))
    put(out, Figure::goodput, goodput_of(job, whole, random), largest_loss(job, whole));
  return out;
}

}  // namespace

Drawn Scenarios::draw(std::uint64_t seed) const {
  Random random(mix(seed));
  const Nodes nodes(work_, system_, random);
  return figures(work_, system_, nodes, random);
}

StormResult Scenarios::storm(std::uint64_t seed) const {
  Random random(mix(seed));
  const Nodes nodes(work_, system_, random);
  if (work_.checkpoint <= 0) return {};
  if (nodes.known(Nodes::restore)) return run(nodes.restart(), true);
  return nodes.known(Nodes::save) ? run(nodes.save_by_all(), true) : StormResult{};
}

}  // namespace headrace::simulate
