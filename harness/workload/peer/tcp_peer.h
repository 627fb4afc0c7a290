// A peer over one TCP connection: its name and version, then steps and exchanges in a fixed protocol.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "harness/base/secrets.h"
#include "harness/record/ranks/peer.h"
#include "harness/workload/ranks/frame.h"

namespace headrace::peer {

inline constexpr std::uint16_t kPort = 18620;
/// No step and no exchange of workloads comes near it [bytes].
inline constexpr std::uint64_t kLongestFrame = 16 << 20;

/// "node-b", "node-b:18620", "10.0.0.2:7000", "[fd00::2]:7000" in two parts. Throws UsageError, naming `option`.
struct Endpoint {
  std::string host;
  std::uint16_t port = kPort;
};
Endpoint parse_endpoint(const std::string& text, const std::string& option);

inline constexpr double kSilence_s = 10;

class TcpPeer final : public Peer {
 public:
  /// `own` and `other` are host names; the handshake is done. `silence_s`: an end without a sign of life for this time
  /// is given up, for any kind of wait. `secrets`: struck out of the other end's messages.
  TcpPeer(ranks::Connection connection, unsigned rank, const std::string& own, const std::string& other,
          std::string local_address, double silence_s = kSilence_s, Secrets secrets = {});

  unsigned rank() const override { return rank_; }
  const std::vector<RankPlace>& places() const override { return places_; }
  std::vector<std::string> gather(std::string_view what, const std::vector<unsigned>& group, std::string_view own,
                                  double timeout_s, int root) override;
  std::string lost() const override;
  void step(std::string_view text, bool fresh) override;
  const std::string& local_address() const override { return local_address_; }

  /// The follower: the next step; nothing when the leader said goodbye, or hung up. Throws RanksError after
  /// `timeout_s` of silence.
  std::optional<std::string> next_step(double timeout_s);
  /// The follower could not: the leader's next exchange throws RunError, or Unsupported, with these words.
  void fail(std::string_view why, bool unsupported);
  /// The leader is done.
  void say_goodbye();

 private:
  struct Message {
    ranks::Kind kind;
    std::uint64_t age;
    std::string text;
  };
  void send(ranks::Kind kind, std::string_view text);
  /// Gives signs of life until it is asked to stop, however long this end is busy. While it waits itself, none are due.
  void ping(const std::stop_token& asked);
  /// The next message that is not out of date; nothing when there is none within `timeout_s`. Under the mutex. Throws
  /// RanksError, and hangs up, at invalid bytes.
  std::optional<Message> receive(double timeout_s) const;
  [[noreturn]] void hang_up() const;
  [[noreturn]] void give_up(std::string_view what, const std::string& why) const;

  mutable std::mutex mutex_;
  mutable ranks::Connection connection_;
  mutable std::deque<Message> kept_;  // read ahead
  mutable bool closed_ = false;
  mutable std::uint64_t heard_ns_ = 0;  // when anything came from the other end, or this end began to listen
  std::uint64_t age_ = 0;               // counts fresh steps
  const unsigned rank_;
  const std::vector<RankPlace> places_;
  const std::string local_address_;
  const double silence_s_;
  const Secrets secrets_;
  std::jthread pinging_;  // the last: it uses all others
};

/// Connects to `headrace run --serve` at `to`. Throws RunError, with a remedy: no such host, no listener, a firewall, a
/// wrong token, another version, or another leader.
std::unique_ptr<TcpPeer> meet(const Endpoint& to, const std::string& token, double timeout_s);

}  // namespace headrace::peer
