// How long, and how often, a queue pair of a reliable transport tries.
#pragma once

#include <cstdint>

namespace headrace::verbs {

inline constexpr std::uint8_t kTimeout = 14;  // 4.096 us * 2^14 = 67 ms
// Soft-RoCE and some cards take 7 as "for ever": a peer that is gone would never be reported.
inline constexpr std::uint8_t kRetries = 6;
// For ever, as perftest and NCCL do. A receiver that answers is there, and may be preempted for longer than a few
// retries. One that stays so is StallWatch's to report.
inline constexpr std::uint8_t kReceiverRetries = 7;
inline constexpr std::uint8_t kReceiverDelay = 12;  // 0.64 ms before a message that found no receive comes again

}  // namespace headrace::verbs
