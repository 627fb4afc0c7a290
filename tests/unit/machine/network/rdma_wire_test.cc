#include "harness/machine/network/rdma_wire.h"

#include <gtest/gtest.h>

#include "harness/base/error.h"

namespace headrace::rdma_wire_test {
namespace {

TEST(RdmaWire, ComesBackAsItWas) {
  RdmaCard card;
  card.address = {.ethernet = true,
                  .gid = {1, 2, 3},
                  .lid = 7,
                  .mtu = 4096,
                  .reads = 16,
                  .sequence = 0xabcdef,
                  .queue_pairs = {17, 18, 19}};
  card.memory = 0x7f0000001000;
  card.length = 1 << 20;
  card.key = 0x1234;
  const RdmaCard back = card_from(to_bytes(card));
  EXPECT_EQ(back.address.gid, card.address.gid);
  EXPECT_EQ(back.address.queue_pairs, card.address.queue_pairs);
  EXPECT_EQ(back.address.sequence, 0xabcdefu);
  EXPECT_EQ(back.address.mtu, 4096u);
  EXPECT_EQ(back.memory, card.memory);
  EXPECT_EQ(back.key, card.key);
}

TEST(RdmaWire, RefusesShortMessages) {
  const std::string whole = to_bytes({});
  EXPECT_THROW(card_from(whole.substr(0, whole.size() - 1)), RunError);
  EXPECT_THROW(card_from(""), RunError);
}

}  // namespace
}  // namespace headrace::rdma_wire_test
