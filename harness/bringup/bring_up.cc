#include "harness/bringup/bring_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/base/utc.h"
#include "harness/base/version.h"
#include "harness/bringup/asking.h"
#include "harness/bringup/blame/judge.h"
#include "harness/bringup/blame/port_errors.h"
#include "harness/bringup/blame/topology.h"
#include "harness/bringup/blame/unreached.h"
#include "harness/bringup/groups.h"
#include "harness/bringup/pair_round.h"
#include "harness/bringup/rails.h"
#include "harness/bringup/tests/test_nodes.h"

namespace headrace::bringup {
namespace {

constexpr double kFacts_s = 60;  // libraries of GPUs may take their time
constexpr double kClock_s = 10;
constexpr int kClockTurns = 3;              // the quickest answer reports a clock best
constexpr std::size_t kFewestPartners = 8;  // of those that are retested
constexpr std::size_t kFewestMet = 4;       // by each of those, where that many are there

/// The end that was called could not call the other one back.
bool is_one_way(const RoundRecord& round, const PairMeasured& measured) {
  return std::any_of(round.failed.begin(), round.failed.end(), [&](const FailedPair& one) {
    return one.a == measured.a && one.b == measured.b && one.rail == measured.rail;
  });
}

class Session {
 public:
  Session(Record& record, const Start& start, Audience& audience)
      : record_(record), start_(start), audience_(audience) {}

  void run() {
    choose();
    for (NodeRecord& node : record_.nodes) node.differences.clear();
    for (const unsigned node : part_) record_.nodes[node].missing = {};  // the others were not asked
    record_.headrace = kVersion;
    record_.signal = 0;
    record_.skipped.clear();
    record_.running = true;
    record_.sessions.push_back({utc_text(wall_clock_s()), start_.retest, {}});
    std::vector<std::string> commands;
    for (const unsigned node : part_) commands.push_back(start_.commands.at(node));
    agents::Crowd crowd(std::move(commands), [this] { return stopped(); });
    crowd_ = &crowd;
    ask_.emplace(crowd, part_);
    crowd.start(start_.start_s, [&](std::size_t known) { audience_.started(known, part_.size()); });
    look();
    set_rdma_rails(record_, here());
    networks_ = topologies_of(record_);
    unreached_.emplace(record_);
    for (const unsigned node : same_address_)
      for (unsigned rail = 0; rail < rails(record_); ++rail) {
        given_up_.emplace(node, rail);
        take_away(networks_, node, rail);
      }
    audience_.looked(record_);
    test();
    meet_again();
    replay();
    bool finished = false;
    while (!stopped() && !(finished = !measure_next())) {
    }
    judge(record_, {*evidence_, broken(), takes_part(), finished});
    if (!stopped()) together();
    record_.signal = start_.signal();
    record_.running = false;
    judge(record_, {*evidence_, broken(), takes_part(), finished});
    keep();
  }

 private:
  /// The participants; in a retest enough accepted ones.
  void choose() {
    if (start_.retest.empty()) {
      part_.resize(record_.nodes.size());
      std::iota(part_.begin(), part_.end(), 0u);
      return;
    }
    part_ = start_.retest;
    std::vector<unsigned> partners;
    for (unsigned node = 0; node < record_.nodes.size(); ++node)
      if (is_accepted(record_.nodes[node].state) && !is_retested(node)) partners.push_back(node);
    if (partners.empty()) throw RunError("no node is accepted yet, so the repaired nodes have no partner");
    Random random(record_.measuring.search.seed + record_.sessions.size());
    shuffle(std::span(partners), random);
    partners.resize(std::min(partners.size(), std::max(kFewestPartners, 2 * start_.retest.size())));
    part_.insert(part_.end(), partners.begin(), partners.end());
  }

  void keep() {
    record_.sessions.back().elapsed_s = seconds_since(began_ns_);
    start_.keep(record_);
  }

  bool stopped() const { return start_.signal() != 0; }
  std::vector<bool> takes_part() const {
    std::vector<bool> all(record_.nodes.size(), false);
    for (const unsigned node : part_) all[node] = true;
    return all;
  }
  bool there(unsigned node) const { return !record_.nodes[node].missing; }

  void note_missing() {
    for (std::size_t i = 0; i < part_.size(); ++i)
      if (agents::Failure& missing = record_.nodes[part_[i]].missing; !missing) missing = crowd_->failure(i);
  }

  /// Each host's facts, compared with the others.
  void look() {
    note_missing();
    std::map<unsigned, nlohmann::json> facts, clocks;
    for (const unsigned node : part_)
      if (there(node)) {
        facts[node] = {{"do", "facts"}, {"paths", record_.measuring.paths}, {"rdma", record_.nodes[node].host.rdma}};
        clocks[node] = {{"do", "clock"}};
      }
    std::map<unsigned, Answered> all;
    for (auto& [number, answer] : (*ask_)(facts, kFacts_s)) {
      NodeRecord& node = record_.nodes[number];
      if (answer.why.empty()) try {
          node.facts = agents::facts_from(*answer.json);
          all[number] = {number, node.host.name, *node.facts, 0, 0};
          continue;
        } catch (const std::exception& e) {
          answer.why = e.what();
        }
      if (!node.missing && !stopped())
        node.missing = {"reports no facts: " + answer.why, "start its agent by hand, and look"};
    }
    for (int turn = 0; turn < kClockTurns && !stopped(); ++turn)
      for (auto& [number, answer] : (*ask_)(clocks, kClock_s)) {
        const auto at = all.find(number);
        if (!answer.why.empty() || at == all.end()) continue;
        const auto reported = answer.json->find("now_s");
        if (reported == answer.json->end() || !reported->is_number()) continue;
        const double error = (answer.came_s - answer.asked_s) / 2;
        if (turn > 0 && error >= at->second.clock_error_s) continue;
        at->second.clock_error_s = error;
        at->second.clock_s = reported->get<double>() - (answer.came_s + answer.asked_s) / 2;
      }
    note_missing();
    std::vector<Answered> reported;
    for (auto& [number, one] : all)
      if (there(number)) reported.push_back(std::move(one));
    for (const Difference& same : same_machines(reported))
      record_.nodes[same.host].missing = {same.reported, same.fix, false, true};
    std::erase_if(reported, [&](const Answered& one) { return !there(static_cast<unsigned>(one.host)); });
    for (const Answered& one : reported) record_.nodes[one.host].clock_s = one.clock_s;
    if (!start_.retest.empty()) add_accepted(reported);
    for (Difference& one : differences(reported)) record_.nodes[one.host].differences.push_back(std::move(one));
    for (Difference& one : same_addresses(reported)) {
      same_address_.insert(static_cast<unsigned>(one.host));
      record_.nodes[one.host].differences.push_back(std::move(one));
    }
  }

  /// Repaired nodes are compared with accepted ones that are there. Where these are few, the others' facts from their
  /// acceptance are used.
  void add_accepted(std::vector<Answered>& reported) const {
    if (reported.empty()) return;
    for (Answered& one : reported) one.accepted = !is_retested(static_cast<unsigned>(one.host));
    std::size_t accepted = 0;
    for (const Answered& one : reported) accepted += one.accepted;
    if (accepted >= kFewestToCompare) return;
    for (unsigned node = 0; node < record_.nodes.size(); ++node) {
      const NodeRecord& one = record_.nodes[node];
      const bool answered =
          std::any_of(reported.begin(), reported.end(), [&](const Answered& other) { return other.host == node; });
      if (one.facts && !answered && is_accepted(one.state) && !is_retested(node))
        reported.push_back({node, one.host.name, *one.facts, 0, 0, true, true});
    }
  }

  /// The nodes' own measurements.
  void test() {
    if (record_.measuring.pairs_only) return skip("node tests", "--pairs-only");
    std::vector<unsigned> nodes;
    for (const unsigned node : untested(record_, part_))
      if (there(node)) nodes.push_back(node);
    test_nodes(record_, nodes, *ask_, audience_);
    note_missing();
    start_.keep(record_);
  }

  /// Group measurements of nodes that passed.
  void together() {
    measure_groups(record_, *ask_, audience_);
    start_.keep(record_);
    measure_load(record_, start_.job_file, *ask_, audience_);
    remove_data(record_, *ask_);
    note_missing();
  }

  void skip(const char* step, const std::string& why) { record_.skipped.push_back({step, why}); }

  /// Results of earlier sessions count again.
  void replay() {
    std::size_t rounds = 0;
    for (std::size_t s = 0; s + 1 < record_.sessions.size(); ++s) rounds += record_.sessions[s].rounds.size();
    SearchOptions options = record_.measuring.search;
    options.before = static_cast<unsigned>(rounds);
    options.every_link = options.every_link && start_.retest.empty();
    evidence_.emplace(networks_, options);
    const Replay replay(record_);
    for (std::size_t s = 0; s < record_.sessions.size(); ++s)
      for (const RoundRecord& round : record_.sessions[s].rounds) {
        std::vector<PairMeasured> counted;
        for (const PairMeasured& one : round.pairs)
          if (replay.counts(s, one)) {
            counted.push_back(one);
            if (s + 1 < record_.sessions.size()) unreached_->measured_before(one);
          }
        evidence_->add(counted);
      }
    const std::vector<bool> part = takes_part();
    for (unsigned node = 0; node < record_.nodes.size(); ++node)
      if (!part[node] || !there(node)) evidence_->lose(node);
    for (const auto& [a, b, rail] : avoided_) evidence_->avoid(a, b, rail);
  }

  /// Pairs that failed in earlier sessions and did not connect since. Rates may clear both nodes, and not the path
  /// between them.
  void meet_again() {
    std::set<std::pair<unsigned, unsigned>> failed;
    const Replay replay(record_);
    const std::vector<bool> part = takes_part();
    for (std::size_t s = 0; s + 1 < record_.sessions.size(); ++s)
      for (const RoundRecord& round : record_.sessions[s].rounds) {
        for (const PairMeasured& one : round.pairs) failed.erase({one.a, one.b});
        for (const FailedPair& one : round.failed)
          if (part[one.a] && part[one.b] && replay.counts(s, one.a) && replay.counts(s, one.b))
            failed.emplace(one.a, one.b);
      }
    again_.assign(failed.begin(), failed.end());
  }

  /// Nodes and NICs without any connection are no longer measured or waited for.
  void give_up() {
    bool is_new = false;
    const auto one = [&](unsigned node, unsigned rail) {
      if (!given_up_.emplace(node, rail).second) return;
      take_away(networks_, node, rail);
      is_new = true;
    };
    for (const auto& [node, rail] : unreached_->given_up(paired())) one(node, rail);
    if (is_new) replay();
  }

  /// False: the search needs no more.
  bool measure_next() {
    const Round round = next_round();
    if (round.empty()) return false;
    const std::size_t done = record_.sessions.back().rounds.size();
    const double likely = std::max<double>(likely_rounds(record_), static_cast<double>(done) + 1);
    audience_.round(static_cast<unsigned>(done) + 1, round.size(),
                    (likely - static_cast<double>(done)) * one_round_s());
    const auto measured = [&](unsigned a, unsigned b, unsigned rail) { return is_measured(a, b, rail); };
    const auto caller = [&](unsigned a, unsigned b, unsigned rail) { return unreached_->caller(a, b, rail); };
    RoundRecord result = measure_round(record_, round, measured, caller, *ask_);
    if (stopped()) return true;  // half a round does not show which nodes failed
    for (const PairMeasured& one : result.pairs) unreached_->measured(one, is_one_way(result, one));
    for (const auto& [a, b] : round) {
      met_[a].insert(b);
      met_[b].insert(a);
    }
    look_at_failures(result);
    evidence_->add(result.pairs);
    note_missing();
    for (const unsigned node : part_)
      if (!there(node)) evidence_->lose(node);
    record_.sessions.back().rounds.push_back(std::move(result));
    give_up();
    judge(record_, {*evidence_, broken(), takes_part(), false});
    keep();
    audience_.measured(record_.sessions.back().rounds.back(), record_);
    return true;
  }

  bool is_measured(unsigned a, unsigned b, unsigned rail) const {
    return !given_up_.contains({a, rail}) && !given_up_.contains({b, rail}) &&
           !avoided_.contains({std::min(a, b), std::max(a, b), rail});
  }
  bool is_measured(unsigned a, unsigned b) const {
    for (unsigned rail = 0; rail < rails(record_); ++rail)
      if (is_measured(a, b, rail)) return true;
    return false;
  }

  double one_round_s() const {
    const auto& rounds = record_.sessions.back().rounds;
    if (rounds.empty()) return round_s(record_);
    double sum = 0;
    for (const RoundRecord& one : rounds) sum += one.took_s;
    return sum / static_cast<double>(rounds.size());
  }

  /// Pairs that failed, in this session once, then the pairs that the search requests.
  Round next_round() {
    Round round;
    std::vector<bool> taken(record_.nodes.size(), false);
    const auto meet = [&](unsigned a, unsigned b) {
      if (taken[a] || taken[b] || !there(a) || !there(b) || !is_measured(a, b)) return;
      round.emplace_back(a, b);
      taken[a] = taken[b] = true;
    };
    Round later;
    for (const auto& [a, b] : again_) {
      if (taken[a] || taken[b]) later.emplace_back(a, b);
      meet(a, b);
    }
    again_ = std::move(later);
    for (const auto& [a, b] : evidence_->next()) meet(a, b);
    // One rate may clear a node that is most likely well. One that was bad meets as many as it takes to accuse it.
    for (const unsigned node : start_.retest)
      for (const unsigned partner : part_)
        if (met_[node].size() < kFewestMet && !met_[node].contains(partner) && !is_retested(partner))
          meet(node, partner);
    return round;
  }

  bool is_retested(unsigned node) const {
    return std::find(start_.retest.begin(), start_.retest.end(), node) != start_.retest.end();
  }

  /// A pair that fails is tried again; after that its two meet no more over that network. Where an agent has ended the reason
  /// is known.
  void look_at_failures(const RoundRecord& result) {
    for (std::size_t i = 0; i < part_.size(); ++i)
      if (crowd_->failure(i)) evidence_->lose(part_[i]);
    for (const FailedPair& one : result.failed) {
      const auto both = [&](bool (agents::Crowd::*are)(std::size_t) const) {
        return (crowd_->*are)(ask_->member(one.a)) && (crowd_->*are)(ask_->member(one.b));
      };
      if (!both(&agents::Crowd::there)) continue;
      // One that went silent may have been kept busy by the other: it meets a third before it is missing.
      const bool answered = both(&agents::Crowd::answers);
      if (answered) unreached_->failed(one);
      if (answered && unreached_->failures(one) < kTwice) {
        again_.emplace_back(one.a, one.b);
      } else if (one.own.empty()) {
        evidence_->avoid(one.a, one.b, one.rail);
        avoided_.emplace(std::min(one.a, one.b), std::max(one.a, one.b), one.rail);
      }
    }
  }

  std::vector<Broken> broken() const {
    std::vector<Broken> all = unreached_->broken(paired());
    for (Broken& one : port_errors(record_)) all.push_back(std::move(one));
    return all;
  }
  std::vector<unsigned> here() const {
    std::vector<unsigned> all;
    for (const unsigned node : part_)
      if (there(node)) all.push_back(node);
    return all;
  }

  /// Those that are there, and may meet others.
  std::vector<unsigned> paired() const {
    std::vector<unsigned> all = here();
    std::erase_if(all, [&](unsigned node) { return same_address_.contains(node); });
    return all;
  }

  Record& record_;
  const Start& start_;
  Audience& audience_;
  const std::uint64_t began_ns_ = now_ns();
  std::vector<Topology> networks_;
  std::vector<unsigned> part_;  // nodes that take part, as the crowd numbers them
  agents::Crowd* crowd_ = nullptr;
  std::optional<Asking> ask_;
  std::optional<Evidence> evidence_;
  std::optional<Unreached> unreached_;
  std::set<unsigned> same_address_;                             // nodes with an address that another one has, too
  std::set<std::pair<unsigned, unsigned>> given_up_;            // nodes and rails
  std::set<std::tuple<unsigned, unsigned, unsigned>> avoided_;  // pairs and rails
  Round again_;
  std::map<unsigned, std::set<unsigned>> met_;  // of each node, in this session
};

}  // namespace

unsigned likely_rounds(const Record& record) {
  constexpr unsigned kUsual = 9;
  const auto nodes = static_cast<unsigned>(record.nodes.size());
  const unsigned all = nodes > 1 ? nodes - 1 + nodes % 2 : 0;
  if (record.measuring.search.every_link) return std::max(all, 5u);
  return std::min(kUsual, record.measuring.search.most_rounds);
}

void bring_up(Record& record, const Start& start, Audience& audience) { Session(record, start, audience).run(); }

}  // namespace headrace::bringup
