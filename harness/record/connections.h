// Which hosts could open connections to which others over one network, and the explanation of failed attempts.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace {

struct ConnectionFault {
  /// closed: a host that calls others, and that they cannot call. cannot_call: the other way round. cut_off: neither
  /// works. path: between two that reach others. The last: no attempt of any host succeeded.
  enum class Kind { closed, cannot_call, cut_off, path, nobody } kind = Kind::path;
  unsigned a = 0, b = 0;         // the host; of a path both
  bool one_way = false;          // of a path: a cannot call b, and b can call a
  std::vector<unsigned> others;  // with which ranks it failed
  std::string why;               // of one failed attempt
};

/// In words, where `others` are hosts; and the next step.
std::string in_words_closed(const std::string& others, const std::string& why);
std::string in_words_cannot_call(const std::string& others, const std::string& why);
std::string in_words_one_way(const std::string& from, const std::string& to, const std::string& why);
inline constexpr std::string_view kOpenFirewall =
    "let it accept TCP connections from the other hosts at all ports: its firewall (nft list ruleset, iptables -S, "
    "firewall-cmd --list-all), or security groups";
inline constexpr std::string_view kLetOut = "look at its routes, and at its firewall's rules for outgoing connections";

/// Attempts between hosts, each way counted by itself. Hosts are numbers.
class Connections {
 public:
  void worked(unsigned from, unsigned to);
  void failed(unsigned from, unsigned to, const std::string& why);
  /// It is not known whose call failed, or data stopped after the call.
  void failed_both(unsigned a, unsigned b, const std::string& why, unsigned times = 1);
  /// It reached others in an earlier session.
  void known(unsigned host) {
    in_play_.insert(host);
    known_.insert(host);
  }

  /// How often these two failed, in either direction.
  unsigned failures(unsigned a, unsigned b) const;
  /// The last attempt this way failed.
  bool fails(unsigned from, unsigned to) const;
  bool any_worked() const { return !ways_worked_.empty(); }
  /// Partners with which a host failed.
  std::size_t partners_failed(unsigned host) const;

  /// A pair must have failed `times` before it counts. `hosts`: those that take part. Hosts first, then paths.
  std::vector<ConnectionFault> faults(const std::vector<unsigned>& hosts, unsigned times) const;

 private:
  struct Way {
    unsigned failures = 0;
    bool works = false;    // the last attempt did
    bool assumed = false;  // the pair failed, and it is not known whose call did
    std::string why;
  };
  struct Ends {
    std::set<unsigned> reached, reached_by;          // ever
    std::set<unsigned> not_reached, not_reached_by;  // never reached, and tried
  };
  using Pair = std::pair<unsigned, unsigned>;

  void note_failure(unsigned from, unsigned to, const std::string& why, unsigned times);
  std::set<unsigned> not_met(unsigned host) const;
  bool is_open(unsigned host) const;
  bool nobody(const std::vector<unsigned>& hosts, unsigned times) const;
  bool all_tried(unsigned host, const std::set<unsigned>& others, const std::vector<unsigned>& hosts) const;
  unsigned failures_towards(unsigned host) const;
  unsigned failures_of(unsigned host) const;
  bool is_closed(unsigned host, const std::vector<unsigned>& hosts, unsigned times) const;
  bool is_closed_as(const std::set<unsigned>& closed, unsigned host, const std::vector<unsigned>& hosts) const;
  std::size_t callers_that_fail(unsigned host) const;
  bool lets_one_in(unsigned host, const std::vector<unsigned>& hosts, unsigned times) const;
  bool cannot_call(unsigned host, const std::vector<unsigned>& hosts, unsigned times) const;
  bool are_enough(const std::set<unsigned>& witnesses, unsigned host, const std::vector<unsigned>& hosts) const;
  bool is_cut_off(unsigned host, const std::vector<unsigned>& hosts) const;
  const Ends& ends(unsigned host) const;
  ConnectionFault of_host(ConnectionFault::Kind kind, unsigned host) const;
  void add_paths(std::vector<ConnectionFault>& found, unsigned times) const;
  std::size_t partners_that_work(unsigned host) const;
  void join_paths(std::vector<ConnectionFault>& found) const;

  std::map<Pair, Way> ways_;           // from, to
  std::map<Pair, unsigned> failures_;  // of both, the lower number first
  std::set<Pair> ways_worked_;
  std::map<unsigned, Ends> ends_;
  std::set<unsigned> known_;
  std::set<unsigned> in_play_;  // reached a host, or was reached
};

}  // namespace headrace
