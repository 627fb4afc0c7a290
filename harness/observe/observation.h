// The result of an observation: where time went, the learned job, and its limit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/units.h"
#include "harness/observe/calls/call_times.h"
#include "harness/observe/data_survey.h"
#include "harness/observe/learning/roles.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::observe {

/// A share of time, with 95 % bounds over up to 20 parts of the observation.
struct Share {
  std::string name;
  double value = 0, low = 0, high = 0;
};

enum class Confidence { high, medium, low, guess };
std::string_view to_string(Confidence confidence);

/// One key of the job file.
struct Learned {
  std::string key;   // "step.time"
  std::string text;  // as the job file has it: "50.2ms", "files"; a path that YAML cannot hold as a shell's word
  Dimension dimension = Dimension::text;
  double value = 0, low = 0, high = 0;  // in base units; of words 0
  Confidence confidence = Confidence::guess;
  std::string evidence;  // a sentence
  bool known = true;     // otherwise the owner of the job file decides; the file works without it
};

/// The counters of the data set's file system client while batches were taken, of all processes of this machine.
struct ClientSeen {
  double read_rate = 0;                              // [B/s] from servers
  double reads = 0;                                  // NFS: READs per second
  double queue_s = 0, round_trip_s = 0, took_s = 0;  // NFS: of one READ; queue: before it was sent, in took_s, too
  double in_flight = 0, waiting = 0;                 // NFS: requests, when one was sent; waiting: for a slot
  std::optional<double> at_daemon;                   // FUSE: requests that it had not answered, on average
};

/// A GPU that processes of the job have memory of.
struct GpuSummary {
  std::string pci_address, name;
  Share busy;               // of the time in which batches were taken; whole: some kernel ran all the time
  bool busy_known = false;  // the driver reported it at all
  std::optional<double> memory_busy;
  std::optional<double> own_busy;  // share that the job's kernels had multiprocessors, where the driver reports
  std::uint64_t memory = 0;        // of the job's processes [B]; 0: not reported
  bool shared = false;             // others have memory of it, too
};

/// The state of storage while batches were taken.
struct StorageSeen {
  std::string device;  // "" = no block device below, or not known
  double seconds = 0;
  double read_rate = 0, requests = 0, request_bytes = 0;  // at the device
  double wait_s = 0, busy = 0, queue = 0;                 // of a request; share of the time; requests at the device
  double write_rate = 0;
  std::optional<double> own_rate{};  // [B/s] that the job had of storage; nothing: its counters may not be read
  double waiting_threads = 0;        // of workers, on average, in reads, opens and faults
  std::optional<double> limit_bytes, limit_requests;  // of the control group
  std::optional<ClientSeen> client{};                 // of a file system that has one that counts
};

/// How a rank of the job was found to be behind others, the surest first.
enum class Lag {
  silent,      // it does not answer
  stopped,     // no rank launches anything, and others have launched more
  waited_for,  // it is in operations for the shortest time: others wait in them
  later        // it launches operations after others, which may matter little
};
std::string_view to_string(Lag lag);
struct RankBehind {
  int rank = 0, size = 0;  // in a communicator of that many
  std::string host{};
  int pid = 0;       // there
  bool own = false;  // a process that is watched
  Lag lag = Lag::later;
  double seconds = 0;      // silent, stopped: for this time at the end
  double share = 0;        // waited_for: of the time; 0: not known
  std::string sentence{};  // without a full stop
  bool decides = false;    // it takes a tenth of the time or more
};
/// The reports of NCCL's services on the job's ranks.
struct NcclSummary {
  std::string address{}, version{};  // of RAS; "": RAS was not asked, did not answer
  std::size_t answers = 0, communicators = 0, processes = 0;
  std::vector<RankBehind> behind{};
  std::vector<std::string> facts{};
};

struct Limit {
  std::string id;                     // "storage_bandwidth", docs/reference/observe.md has all of them
  std::string sentence;               // the limit
  std::vector<std::string> proof{};   // the figures that prove it
  std::vector<std::string> advice{};  // remedies, cheapest first
  std::string command{};              // that proves it
};

struct Observation {
  Roles roles;
  DataSurvey data;
  std::vector<Share> consumer, workers;  // where the time of those went; without worker processes, of threads
  Share standing_still;                  // of training, for saves
  std::vector<Share> training;           // the rest of the consumers' time
  StorageSeen storage;
  std::vector<GpuSummary> gpus;  // the job's
  NcclSummary nccl;
  std::optional<calls::CallTimes> calls{};  // by a trace
  double steps = 0;                         // while batches were taken; 0 = not known
  double bytes_per_s = 0;                   // of data that were read then; 0 = not known
  double samples_per_s = 0;                 // that the loader delivered; 0 = not known
  double idle_cpus = 0, throttled = 0;      // throttled: processor seconds withheld per second
  double used_cpus = 0;                     // by the whole tree
  std::optional<double> quota_cpus;         // of the control group
  std::vector<Learned> learned;
  Limit limit;
  std::vector<std::string> notes;
};

/// `root` as for survey_data().
Observation understand(const Recording& recording, const std::string& root);

/// Adds a note where the learned job asks for less than half of the bytes that were read.
void compare_rates(Observation& seen);

/// "job.yaml": with the evidence of each value next to it.
std::string job_text(const Recording& recording, const Observation& seen, const std::string& name);
/// "observe.json", and its declared kind.
inline constexpr const char* kObservationKind = "headrace.observation";
inline constexpr int kObservationSchema = 1;
std::string observation_json(const Recording& recording, const Observation& seen,
                             const std::vector<std::string>& command);

const Share* share_named(const std::vector<Share>& shares, std::string_view name);
/// Its value; 0: there is none.
inline double value_of(const std::vector<Share>& shares, std::string_view name) {
  const Share* const found = share_named(shares, name);
  return found != nullptr ? found->value : 0;
}

}  // namespace headrace::observe
