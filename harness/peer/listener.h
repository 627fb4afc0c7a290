// Waits for leaders on one address: wants a token, takes one at a time, turns others away with the reason.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "harness/peer/tcp_peer.h"
#include "harness/system/unique_fd.h"

namespace headrace::peer {

class Listener {
 public:
  /// Binds to the address given and to no other; port 0: a free one. Throws RunError.
  Listener(const Endpoint& at, std::string token);
  ~Listener();
  Listener(const Listener&) = delete;

  /// "10.0.0.2:18620".
  const std::string& address() const { return address_; }
  /// The next leader that has the token and the version; while it is served, others are told who it is. Those that do
  /// not fit are told why, and so is `log`. Null when nobody came within `timeout_s`, or `stop` said so.
  std::unique_ptr<TcpPeer> accept(double timeout_s, const std::function<void(const std::string&)>& log,
                                  const std::function<bool()>& stop);

 private:
  std::unique_ptr<TcpPeer> greet(system::UniqueFd socket, const std::string& busy_with, std::string& why) const;
  system::UniqueFd socket_;
  const std::string token_;
  std::string address_;
  std::jthread turns_away_;
};

}  // namespace headrace::peer
