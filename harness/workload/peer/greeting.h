// The first words of two peers, in a form that every version keeps: name, token, version.
#pragma once

#include <string>

#include "harness/base/secrets.h"

namespace headrace::peer {

/// Bumped when steps or exchanges change their meaning.
inline constexpr unsigned kProtocol = 1;

struct Greeting {
  std::string token;    // the leader's
  std::string host;     // host name of the sender
  std::string version;  // of headrace: "0.1.0"
  unsigned protocol = 0;
  std::string refused;  // the follower's: why not; "" = welcome
};

Greeting own_greeting();
/// Reveals nothing else of this machine: a refused caller has not shown the token, or need not know.
Greeting refusal(const std::string& why);
std::string to_bytes(const Greeting& greeting);
/// Throws RunError when it is none. `secrets` are struck out of all but the token.
Greeting greeting_from(const std::string& bytes, const Secrets& secrets = {});

/// Why the two do not understand each other, or "".
std::string versions_differ(const Greeting& here, const Greeting& there);

}  // namespace headrace::peer
