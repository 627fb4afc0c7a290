// Whatever a leader that has the token says: `headrace run --serve` goes through it, and lives.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "harness/machine/node.h"
#include "harness/workload/peer/follow.h"
#include "tests/fuzz/connected.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace;
  system::UniqueFd other;
  const auto leader = std::make_shared<peer::TcpPeer>(
      ranks::Connection(fuzzing::connected(data, size, other), peer::kLongestFrame), 1, "here", "there", "127.0.0.1");
  Node node("");
  node.meet(leader);
  peer::follow(*leader, node, 0.1, [](const std::string&) {});
  return 0;
}
