#include "harness/analysis/simulate/fluid.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>

#include "harness/base/random.h"

namespace headrace::simulate {
namespace {

constexpr double kNever = HUGE_VAL;
/// Rounding moves no group back and forth.
constexpr double kSame = 1e-12;

template <class T>
using Earliest = std::priority_queue<T, std::vector<T>, std::greater<T>>;

/// Flows of one speed and group. They have the same rate at all times, so each has received as much as any other since
/// it came. `served` counts that; a flow ends when it reaches the flow's mark.
struct Cell {
  Earliest<std::pair<double, unsigned>> marks;
  double endless = 0;  // flows that never end
  double served = 0;   // at the time when its clock was `as_of`
  double as_of = 0;
  unsigned stamp = 0;  // newer than those of outdated entries
  double flows() const { return static_cast<double>(marks.size()) + endless; }
};

/// A group is closed while its uplink limits it; open ones share the store's level.
struct Group {
  double capacity = kNever, level = kNever;
  bool closed = false;
  double now_s = 0;  // up to when the cells of a closed group were served
  unsigned stamp = 0;
};

/// The end that is next in a heap; outdated if the stamp is.
struct Due {
  double at = 0;
  unsigned what = 0, stamp = 0;
  bool operator>(const Due& other) const { return at > other.at; }
};

struct Arrival {
  double at_s = 0;
  unsigned flow = 0, refused = 0;
  bool operator>(const Arrival& other) const { return at_s != other.at_s ? at_s > other.at_s : flow > other.flow; }
};

class Fluid {
 public:
  Fluid(const Storm& storm, bool moments)
      : storm_(storm),
        speeds_(storm.speeds),
        kinds_(static_cast<unsigned>(storm.speeds.size())),
        wanted_(moments),
        random_(mix(storm.seed)),
        groups_(std::max<std::size_t>(1, storm.groups.size())),
        cells_(groups_.size() * kinds_),
        open_flows_(kinds_),
        counted_(kinds_),
        clock_(kinds_),
        due_(kinds_),
        starts_(storm.flows.size(), -1) {
    for (std::size_t g = 0; g < storm.groups.size(); ++g) groups_[g].capacity = storm.groups[g];
    out_.ends_s.resize(storm.flows.size(), kNever);
    out_.bytes.resize(storm.flows.size());
    std::vector<Arrival> all;
    for (unsigned i = 0; i < storm.flows.size(); ++i) {
      all.push_back({storm.flows[i].arrives_s, i});
      left_ += storm.flows[i].bytes != kNever;
    }
    arrivals_ = Earliest<Arrival>(std::greater<Arrival>(), std::move(all));
  }

  StormResult run() {
    while (left_ > 0 && step()) {
    }
    for (unsigned c = 0; c < cells_.size(); ++c) serve(c);
    for (unsigned i = 0; i < storm_.flows.size(); ++i) {
      const Flow& flow = storm_.flows[i];
      if (flow.bytes != kNever) continue;
      out_.ends_s[i] = now_s_;
      if (starts_[i] >= 0) out_.bytes[i] = cells_[cell_of(flow)].served - starts_[i];
    }
    out_.end_s = now_s_;
    return std::move(out_);
  }

 private:
  unsigned cell_of(const Flow& flow) const { return (storm_.groups.empty() ? 0 : flow.group) * kinds_ + flow.speed; }
  unsigned group_of(unsigned cell) const { return cell / kinds_; }
  unsigned kind_of(unsigned cell) const { return cell % kinds_; }
  bool fits(unsigned kind, double level) const { return speeds_[kind] <= level * (1 + kSame); }

  /// False: nothing moves any more.
  bool step() {
    const double come = arrivals_.empty() ? kNever : arrivals_.top().at_s;
    double first = kNever;
    unsigned kind = kinds_;  // of the open cell that is due first; kinds_: a closed group is
    for (unsigned k = 0; k < kinds_; ++k) {
      while (!due_[k].empty() && due_[k].top().stamp != cells_[due_[k].top().what].stamp) due_[k].pop();
      if (due_[k].empty()) continue;
      const double at = now_s_ + std::max(0.0, due_[k].top().at - clock_[k]) / std::min(speeds_[k], level_);
      if (at < first) {
        first = at;
        kind = k;
      }
    }
    while (!closed_due_.empty() && closed_due_.top().stamp != groups_[closed_due_.top().what].stamp) closed_due_.pop();
    if (!closed_due_.empty() && closed_due_.top().at < first) {
      first = closed_due_.top().at;
      kind = kinds_;
    }
    if (first == kNever && come == kNever) return false;
    advance(std::min(first, come));
    if (come <= first)
      arrive();
    else
      end(kind < kinds_ ? due_[kind].top().what : first_due(closed_due_.top().what));
    settle();
    if (wanted_) note();
    return true;
  }

  void advance(double to_s) {
    const double dt = std::max(0.0, to_s - now_s_);
    const Limited now = limited();
    out_.flow_s.client += now.client * dt;
    out_.flow_s.uplink += now.uplink * dt;
    out_.flow_s.store += now.store * dt;
    out_.flow_s.waiting += now.waiting * dt;
    for (unsigned k = 0; k < kinds_; ++k) clock_[k] += std::min(speeds_[k], level_) * dt;
    now_s_ = std::max(now_s_, to_s);
  }

  /// How many flows each limit holds back.
  Limited limited() const {
    Limited now = closed_limits_;
    for (unsigned k = 0; k < kinds_; ++k) (fits(k, level_) ? now.client : now.store) += open_flows_[k];
    now.waiting = static_cast<double>(refused_);
    return now;
  }

  void note() {
    double rate = closed_capacity_;
    for (unsigned k = 0; k < kinds_; ++k)
      rate += open_flows_[k] > 0 ? open_flows_[k] * std::min(speeds_[k], level_) : 0;
    if (!out_.moments.empty() && out_.moments.back().at_s == now_s_) out_.moments.pop_back();
    out_.moments.push_back({now_s_, rate, limited()});
  }

  double rate_of(unsigned cell) const {
    const Group& g = groups_[group_of(cell)];
    return std::min(speeds_[kind_of(cell)], g.closed ? g.level : level_);
  }

  /// Updates the bytes that the cell's flows have received.
  void serve(unsigned cell) {
    Cell& c = cells_[cell];
    if (groups_[group_of(cell)].closed) {
      c.served += rate_of(cell) * (now_s_ - groups_[group_of(cell)].now_s);
    } else {
      c.served += clock_[kind_of(cell)] - c.as_of;
      c.as_of = clock_[kind_of(cell)];
    }
  }
  void serve_group(unsigned group) {
    for (unsigned k = 0; k < kinds_; ++k) serve(group * kinds_ + k);
    groups_[group].now_s = now_s_;
  }

  /// Enters the cell's next end, or that of its closed group.
  void enter(unsigned cell) {
    const unsigned group = group_of(cell);
    if (groups_[group].closed) return enter_closed(group);
    Cell& c = cells_[cell];
    ++c.stamp;
    if (!c.marks.empty()) due_[kind_of(cell)].push({c.as_of + c.marks.top().first - c.served, cell, c.stamp});
  }
  void enter_closed(unsigned group) {
    Group& g = groups_[group];
    ++g.stamp;
    const unsigned cell = first_due(group);
    if (cell < cells_.size()) closed_due_.push({end_of(cell), group, g.stamp});
  }
  double end_of(unsigned cell) const {
    const Cell& c = cells_[cell];
    return groups_[group_of(cell)].now_s + std::max(0.0, c.marks.top().first - c.served) / rate_of(cell);
  }
  unsigned first_due(unsigned group) const {
    unsigned first = static_cast<unsigned>(cells_.size());
    for (unsigned c = group * kinds_; c < (group + 1) * kinds_; ++c)
      if (!cells_[c].marks.empty() && (first == cells_.size() || end_of(c) < end_of(first))) first = c;
    return first;
  }

  void arrive() {
    Arrival one = arrivals_.top();
    arrivals_.pop();
    if (one.refused > 0) --refused_;
    if (storm_.most_clients > 0 && at_work_ >= storm_.most_clients) {
      const double pause =
          std::min(storm_.retry_most_s, std::ldexp(storm_.retry_after_s, static_cast<int>(std::min(one.refused, 60u))));
      ++one.refused;
      ++out_.retries;
      ++refused_;
      one.at_s = now_s_ + pause * (0.5 + std::ldexp(static_cast<double>(random_.next() >> 11), -53));
      return arrivals_.push(one);
    }
    const Flow& flow = storm_.flows[one.flow];
    const unsigned cell = cell_of(flow);
    touch(cell);
    Cell& c = cells_[cell];
    starts_[one.flow] = c.served;
    if (flow.bytes == kNever)
      ++c.endless;
    else
      c.marks.push({c.served + flow.bytes, one.flow});
    count(cell, 1);
  }

  void end(unsigned cell) {
    touch(cell);
    Cell& c = cells_[cell];
    const unsigned flow = c.marks.top().second;
    c.marks.pop();
    out_.ends_s[flow] = now_s_;
    out_.bytes[flow] = storm_.flows[flow].bytes;
    --left_;
    count(cell, -1);
  }

  /// Before the flows of a cell change.
  void touch(unsigned cell) {
    if (groups_[group_of(cell)].closed)
      serve_group(group_of(cell));
    else
      serve(cell);
  }

  /// After a flow came or went.
  void count(unsigned cell, double by) {
    const unsigned group = group_of(cell);
    Group& g = groups_[group];
    at_work_ += by;
    if (g.closed) add_closed(group, -1, kind_of(cell), by);
    if (!g.closed) open_flows_[kind_of(cell)] += by;
    if (g.capacity != kNever) {
      ordered(g).erase({g.level, group});
      for (unsigned k = 0; k < kinds_; ++k) counted_[k] = cells_[group * kinds_ + k].flows();
      g.level = fill_level(speeds_, counted_, g.capacity);
      if (g.closed && g.level == kNever) {
        open_up(group);
        return;
      }
      if (g.level != kNever) ordered(g).insert({g.level, group});
    }
    if (g.closed) add_closed(group, 1);
    enter(cell);
  }

  /// Counts a closed group among the limits, or no longer. `but`: before the last flow of that kind came (+1) or went.
  void add_closed(unsigned group, double sign, unsigned kind = 0, double but = 0) {
    const Group& g = groups_[group];
    for (unsigned k = 0; k < kinds_; ++k) {
      const double flows = cells_[group * kinds_ + k].flows() - (k == kind ? but : 0);
      (fits(k, g.level) ? closed_limits_.client : closed_limits_.uplink) += sign * flows;
    }
    closed_capacity_ += sign * g.capacity;
  }

  using Ordered = std::set<std::pair<double, unsigned>>;
  Ordered& ordered(const Group& g) { return g.closed ? closed_ : open_; }

  void close(unsigned group) {
    Group& g = groups_[group];
    open_.erase({g.level, group});
    serve_group(group);
    for (unsigned k = 0; k < kinds_; ++k) {
      open_flows_[k] -= cells_[group * kinds_ + k].flows();
      ++cells_[group * kinds_ + k].stamp;
    }
    g.closed = true;
    closed_.insert({g.level, group});
    add_closed(group, 1);
    enter_closed(group);
  }

  /// For a group that is in neither order, and among no limits.
  void open_up(unsigned group) {
    Group& g = groups_[group];
    g.closed = false;
    ++g.stamp;
    if (g.level != kNever) open_.insert({g.level, group});
    for (unsigned k = 0; k < kinds_; ++k) {
      Cell& c = cells_[group * kinds_ + k];
      c.as_of = clock_[k];
      open_flows_[k] += c.flows();
      enter(group * kinds_ + k);
    }
  }

  /// The store's level, and which groups have a lower one.
  void settle() {
    const double capacity = storm_.store ? storm_.store(at_work_) : kNever;
    for (;;) {
      level_ = fill_level(speeds_, open_flows_, capacity - closed_capacity_);
      if (!open_.empty() && open_.begin()->first < level_ * (1 - kSame)) {
        close(open_.begin()->second);
      } else if (!closed_.empty() && closed_.rbegin()->first > level_ * (1 + kSame)) {
        const unsigned group = closed_.rbegin()->second;
        serve_group(group);
        add_closed(group, -1);
        closed_.erase(std::prev(closed_.end()));
        open_up(group);
      } else {
        return;
      }
    }
  }

  const Storm& storm_;
  const std::vector<double>& speeds_;
  const unsigned kinds_;
  const bool wanted_;
  Random random_;
  std::vector<Group> groups_;
  std::vector<Cell> cells_;         // group by group, speed by speed
  std::vector<double> open_flows_;  // of open groups, by speed
  std::vector<double> counted_;     // of one group, by speed
  std::vector<double> clock_;       // the bytes that a flow of an open group has received since the start, by speed
  std::vector<Earliest<Due>> due_;  // cells of open groups by their clock, by speed
  Earliest<Due> closed_due_;        // closed groups by time
  Earliest<Arrival> arrivals_;
  std::vector<double> starts_;  // the bytes that its cell had received when a flow came
  Ordered open_, closed_;       // groups whose level is finite
  double level_ = kNever, now_s_ = 0, at_work_ = 0, closed_capacity_ = 0;
  Limited closed_limits_;
  std::size_t left_ = 0, refused_ = 0;
  StormResult out_;
};

}  // namespace

double fill_level(const std::vector<double>& speeds, const std::vector<double>& counts, double capacity) {
  double left = 0;
  for (const double count : counts) left += count;
  double rest = std::max(0.0, capacity);
  if (left < 0.5) return capacity < 0 ? 0 : HUGE_VAL;
  for (std::size_t k = 0; k < speeds.size(); ++k) {
    if (speeds[k] * left > rest) return rest / left;
    rest -= speeds[k] * counts[k];
    left -= counts[k];
  }
  return HUGE_VAL;
}

StormResult run(const Storm& storm, bool moments) { return Fluid(storm, moments).run(); }

}  // namespace headrace::simulate
