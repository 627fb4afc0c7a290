// How one end of a measurement is called by another over TCP: where it listens, and the first words on each connection.
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

/// Where somebody is called.
struct TcpDoor {
  std::vector<std::string> addresses;  // numeric
  std::uint16_t port = 0;              // 0: it could not open one, and reports itself why
  std::string token;                   // what who calls must know

  /// As bytes for another process of this build.
  std::string packed() const;
  /// Throws RunError where they are none, or have too many addresses.
  static TcpDoor unpacked(const std::string& bytes);
};

/// Opens `door` at a port that the kernel chooses. `interface`: its addresses alone, "" = all that are up; with `bind`
/// nothing comes but by it, whatever routes say. Throws RunError.
system::UniqueFd open_door(TcpDoor& door, const std::string& interface, bool bind);

/// The first bytes of a connection: who calls, and that it is one of ours.
struct TcpHello {
  std::array<char, 16> token{};
  std::uint32_t from = 0, stream = 0;

  TcpHello(std::string_view of_door, std::uint32_t who, std::uint32_t number);
  TcpHello() = default;
};

inline constexpr double kTryAddresses_s = 2;  // for all addresses of a door that do not answer

/// One connection to a door, non-blocking; none, and `why`, where no address of it welcomes us. The first address of it that
/// does counts; where that is not the first one at once, all are tried beside each other, so that any number of them that lead
/// nowhere costs the time of one. `address`: where it was reached before, if it was; set to where it is. `interface`: what it goes out by, "" = as routes say.
system::UniqueFd call_door(const TcpDoor& door, std::string& address, const TcpHello& hello,
                           const std::string& interface, std::string& why);

/// A caller that has the token: its connection, non-blocking, which has not been welcomed yet. None: nobody called in time.
struct TcpCaller {
  system::UniqueFd socket;
  TcpHello hello;
  explicit operator bool() const { return static_cast<bool>(socket); }
};
/// False: it is gone already.
bool welcome(int fd);

/// Callers at a door, all of them at once: any number of strangers that say nothing keeps nobody waiting.
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
