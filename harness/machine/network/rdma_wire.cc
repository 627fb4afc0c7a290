#include "harness/machine/network/rdma_wire.h"

#include "harness/record/ranks/wire.h"

namespace headrace {

std::string to_bytes(const RdmaCard& card) {
  wire::Writer writer;
  const RdmaAddress& a = card.address;
  writer.put(a.ethernet);
  for (const std::uint8_t byte : a.gid) writer.put(byte);
  writer.put(a.lid).put(a.mtu).put(a.reads).put(a.sequence).put(a.partition).put(a.service).put(a.queue_pairs);
  for (const std::uint8_t byte : a.ip) writer.put(byte);
  return writer.put(card.memory).put(card.length).put(card.key).bytes();
}

RdmaCard card_from(const std::string& bytes) {
  wire::Reader reader(bytes);
  RdmaCard card;
  RdmaAddress& a = card.address;
  reader.get(a.ethernet);
  for (std::uint8_t& byte : a.gid) reader.get(byte);
  reader.get(a.lid);
  reader.get(a.mtu);
  reader.get(a.reads);
  reader.get(a.sequence);
  reader.get(a.partition);
  reader.get(a.service);
  reader.get(a.queue_pairs);
  for (std::uint8_t& byte : a.ip) reader.get(byte);
  reader.get(card.memory);
  reader.get(card.length);
  reader.get(card.key);
  return card;
}

}  // namespace headrace
