// How one end of a measurement calls another over TCP: its address, and the first words on each connection.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/deadline.h"
#include "harness/base/system/unique_fd.h"

namespace headrace {

inline constexpr std::size_t kMostAddresses = 128;  // of a door; a host that has more is called at the first ones

/// Where an end listens.
struct TcpDoor {
  std::vector<std::string> addresses;  // numeric
  std::uint16_t port = 0;              // 0: it could not open one, and reports itself why
  std::string token;                   // a caller must know it

  /// As bytes for another process of this build.
  std::string packed() const;
  /// Throws RunError where they are none, or have too many addresses.
  static TcpDoor unpacked(const std::string& bytes);
};

/// Opens `door` at a port that the kernel chooses. `interface`: its addresses alone, "" = all that are up; with `bind`
/// connections come only by it, regardless of routes. Throws RunError.
system::UniqueFd open_door(TcpDoor& door, const std::string& interface, bool bind);

/// The first bytes of a connection: the caller, and the proof that it belongs to headrace.
struct TcpHello {
  std::array<char, 16> token{};
  std::uint32_t from = 0, stream = 0;

  TcpHello(std::string_view of_door, std::uint32_t who, std::uint32_t number);
  TcpHello() = default;
};

inline constexpr double kTryAddresses_s = 2;  // for all addresses of a door that do not answer

/// One connection to a door, non-blocking; none, and `why`, where no address of it welcomes us. The first address that
/// does counts. If the first one fails at once, all are tried in parallel. Any number of dead addresses costs the time
/// of one. `address`: the one reached before, if any; set to the one in use. `interface`: "" = by the routes.
system::UniqueFd call_door(const TcpDoor& door, std::string& address, const TcpHello& hello,
                           const std::string& interface, std::string& why);

/// A caller with the token: its connection, non-blocking, not welcomed yet. None: no call came in time.
struct TcpCaller {
  system::UniqueFd socket;
  TcpHello hello;
  explicit operator bool() const { return static_cast<bool>(socket); }
};
/// False: it is gone already.
bool welcome(int fd);

/// Callers at a door, all of them at once: any number of silent strangers delays no caller.
class TcpCallers {
 public:
  /// `listener` must outlive this.
  TcpCallers(int listener, std::string token) : listener_(listener), token_(std::move(token)) {}
  /// Waits for the next one that has the token.
  TcpCaller next(const Deadline& deadline);

 private:
  struct Stranger {
    TcpCaller caller;
    std::size_t got = 0;  // bytes of its hello
    Deadline until;
  };
  void take_in();
  bool spoke(Stranger& stranger) const;

  const int listener_;
  const std::string token_;
  std::deque<Stranger> strangers_;  // the oldest first
};

}  // namespace headrace
