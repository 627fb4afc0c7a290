// The reports of NCCL's own services on the ranks of a job, and nothing judged.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::observe {

inline constexpr std::size_t kMostNcclOperations = 8;  // kinds that are counted; NCCL has five

struct NcclRank {
  int rank = 0;                                               // in its communicator
  std::string host{};                                         // its address
  int pid = 0;                                                // there
  bool own = false;                                           // a process that is watched
  bool running = false;                                       // initialized, and not about to end
  std::array<std::uint64_t, kMostNcclOperations> launched{};  // by kind
  std::uint64_t all_launched() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t one : launched) sum += one;
    return sum;
  }
};

/// A rank of which the answer has nothing.
struct NcclMissing {
  int rank = 0;
  std::string host{};
  int pid = 0;
  bool own = false;
  bool unresponsive = false;  // else its process answered, and is no member any more
  bool dead = false;          // NCCL does not ask it any more
};

struct NcclCommunicator {
  std::string id;
  int size = 0;
  std::vector<std::string> operations{};  // kinds, in the order of NcclRank::launched
  std::vector<NcclRank> ranks{};
  std::vector<NcclMissing> missing{};
};

/// One answer of RAS.
struct NcclLook {
  double at_s = 0;  // since the observation began
  std::string version{};
  std::vector<NcclCommunicator> communicators{};
};

/// One collective operation of all ranks of a communicator, as Inspector wrote it down.
struct NcclOperation {
  std::vector<double> took_s;  // by rank: how long it was in the operation, the wait for others in it
};
struct NcclTimedRank {
  std::string host{};
  int pid = 0;
  bool own = false;
};
struct NcclTimed {
  std::string id;
  std::vector<NcclTimedRank> ranks;  // by rank
  std::vector<NcclOperation> operations{};
  double span_s = 0;  // in which the operations were; 0: not known
};

struct NcclSeen {
  std::string address{};          // of RAS; "": RAS was not asked
  std::vector<NcclLook> looks{};  // the newest
  std::size_t answers = 0;        // all of them
  std::vector<NcclTimed> timed{};
  std::vector<std::string> facts{};  // a sentence each: a missing question or answer, and why
};

}  // namespace headrace::observe
