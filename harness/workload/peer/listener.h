// Waits for leaders on one address: wants a token, takes one at a time, turns others away with the reason.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "harness/base/system/unique_fd.h"
#include "harness/workload/peer/tcp_peer.h"

namespace headrace::peer {

class Listener {
 public:
  /// Binds to the address given and to no other; port 0: a free one. Throws RunError.
  Listener(const Endpoint& at, std::string token);
  ~Listener();
  Listener(const Listener&) = delete;

  /// "10.0.0.2:18620".
  const std::string& address() const { return address_; }
  /// The next leader that has the token and the version; while it is served, others get its name. Refused ones get the
  /// reason, and so does `log`. Null when none came within `timeout_s`, or `stop` ended it.
  std::unique_ptr<TcpPeer> accept(double timeout_s, const std::function<void(const std::string&)>& log,
                                  const std::function<bool()>& stop);

 private:
  /// A peer that has connected, and not yet shown the token, or will be turned away.
  struct Stranger {
    ranks::Connection connection;
    std::string caller, local;  // addresses
    std::uint64_t since_ns = 0;
    std::optional<std::string> greeting;  // its bytes, once they are here
    std::string refused;                  // why; "" = not yet heard
    std::uint64_t answer_ns = 0;
  };
  using Log = std::function<void(const std::string&)>;

  /// Waits a moment for strangers to connect and send; returns the first accepted one, none while `busy_with` a peer.
  std::unique_ptr<TcpPeer> look(const std::string& busy_with, const Log& log);
  void wait_for_a_word() const;
  void take_callers();
  /// Null: it has to wait, or is gone: then its connection is closed.
  std::unique_ptr<TcpPeer> hear(Stranger& stranger, const std::string& busy_with, const Log& log) const;
  std::unique_ptr<TcpPeer> greeted(Stranger& stranger, const std::string& bytes, const std::string& busy_with) const;

  system::UniqueFd socket_;
  const std::string token_;
  std::string address_;
  std::vector<Stranger> strangers_;  // oldest first
  std::jthread turns_away_;          // while a peer is served
};

}  // namespace headrace::peer
