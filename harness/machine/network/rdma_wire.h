// The exchange of two ends of an RDMA connection, as bytes.
#pragma once

#include <cstdint>
#include <string>

#include "harness/backends/rdma.h"

namespace headrace {

/// An endpoint and the memory behind it that the other end may write to and read from.
struct RdmaCard {
  RdmaAddress address;
  std::uint64_t memory = 0;  // where it begins
  std::uint64_t length = 0;
  std::uint32_t key = 0;
};

std::string to_bytes(const RdmaCard& card);
/// Throws RunError when they are no card.
RdmaCard card_from(const std::string& bytes);

}  // namespace headrace
