// Any bytes as the first words of a peer: refused, or a greeting that is written and read the same.
#include <cstddef>
#include <cstdint>

#include "harness/base/error.h"
#include "harness/base/system/token.h"
#include "harness/workload/peer/greeting.h"
#include "tests/fuzz/invariant.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace;
  peer::Greeting one;
  try {
    one = peer::greeting_from(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const RunError&) {
    return 0;
  }
  const peer::Greeting again = peer::greeting_from(peer::to_bytes(one));
  fuzzing::expect(again.token == one.token && again.host == one.host && again.version == one.version &&
                      again.protocol == one.protocol && again.refused == one.refused,
                  "a greeting is written as it was read", one.host);
  fuzzing::expect(system::same_token(one.token, again.token), "a token is the same as itself", one.token);
  fuzzing::expect(peer::versions_differ(one, again).empty(), "a version is the same as itself", one.version);
  return 0;
}
