// Any bytes from a connection, as frames, and what the frames of ranks hold: taken as they are, or
// refused.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/workload/ranks/frame.h"
#include "harness/workload/ranks/hub.h"
#include "harness/workload/ranks/messages.h"
#include "tests/fuzz/connected.h"

namespace {
using namespace headrace;
using fuzzing::expect;

/// Read as a T, or refused.
template <class T>
void check_packed(const std::string& bytes) {
  try {
    const std::string again = T::unpacked(bytes).packed();
    expect(bytes.starts_with(again), "what is read is written the same", bytes);
  } catch (const RunError&) {
  }
}

void check_answer(const std::string& bytes) {
  try {
    wire::Reader in(bytes);
    std::string key;
    std::vector<std::string> said;
    in.get(key);
    ranks::get_said(in, said);
    wire::Writer again;
    ranks::put_said(again.put(key), said);
    expect(bytes.starts_with(again.bytes()), "an answer is read as it is", key);
  } catch (const RunError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kLongest = 512;
  system::UniqueFd other;
  ranks::Connection connection(fuzzing::connected(data, size, other), kLongest);
  std::size_t taken = 0;
  for (bool open = true; open && connection.fd() >= 0;) {
    open = connection.read_some();
    while (const auto frame = connection.next()) {
      taken += frame->bytes.size();
      expect(frame->bytes.size() <= kLongest && taken <= size, "a frame is part of what came", "");
      check_packed<ranks::Contribution>(frame->bytes);
      check_packed<ranks::HubAddress>(frame->bytes);
      check_answer(frame->bytes);
    }
  }
  return 0;
}
