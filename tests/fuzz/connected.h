// One end of a connection on which everything has been said that will be.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "harness/base/system/unique_fd.h"
#include "tests/fuzz/invariant.h"

namespace headrace::fuzzing {

/// `other` must live as long: it takes what is answered.
inline system::UniqueFd connected(const std::uint8_t* data, std::size_t size, system::UniqueFd& other) {
  int ends[2];
  expect(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "a pair of sockets", "");
  other = system::UniqueFd(ends[0]);
  expect(::send(ends[0], data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size), "all is sent", "");
  ::shutdown(ends[0], SHUT_WR);
  return system::UniqueFd(ends[1]);
}

}  // namespace headrace::fuzzing
