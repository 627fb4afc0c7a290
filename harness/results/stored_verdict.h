// A finished run's facts and judgements, read back: from verdict.json in milliseconds, or as a part of the whole run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/verdict/verdict.h"
#include "harness/results/exit_map.h"
#include "harness/results/json_place.h"

namespace headrace::results {

/// How a point ended: "ok", "skipped", "error"...
struct StoredStatus {
  std::string point, status;
};

struct StoredVerdict {
  std::string path;  // the file it came from
  std::string version, revision, build_type, sanitizers;
  std::string id, name, started_utc, config_file, config_hash, node;
  std::string from_job_by;  // the verb whose points follow from the job in config_file; "" = that is a configuration
  std::string target;       // the folder that was measured; "" = not reported
  double elapsed_s = 0;
  std::vector<std::string> command;
  int signal = 0;   // that ended it
  Summary summary;  // the overall outcome, of the judgements and in the file
  std::vector<Judgement> judgements;

  /// Judgements of this outcome, and those that passed with little to spare.
  unsigned count(Outcome outcome) const;
  unsigned thin() const;
  Remark remark() const;
  /// The command that measures the same points: "headrace run -c disk.yaml", or "headrace qualify job.yaml" where they
  /// followed from the job. Of a run whose file is not reported "headrace run -c CONFIG".
  std::string measuring_command() const;
  /// When the run ended, in seconds since 1970; 0 when the file has no start time.
  double ended_s() const;
};

/// "2026-01-31T12:00:00Z", with or without a fraction of the second, in seconds since 1970.
std::optional<double> unix_seconds(const std::string& utc);

/// Long lists of a run file that nothing reads which judges anew.
inline const std::vector<std::string> kLongLists = {"series", "slowest_series", "worker_finish_s", "worker_bytes",
                                                    "buckets"};

/// A document's text parsed strictly, its kind and schema checked. Throws UsageError.
nlohmann::json parse_kind(std::string_view text, std::string_view kind, const std::vector<std::string>& ignored = {});

/// The outcome that is there. Throws UsageError when it is none of `allowed`.
Outcome outcome_at(const JsonPlace& place, std::span<const Outcome> allowed = kOutcomes);

/// Fills in everything but `path` from a document that begins as run.json and verdict.json do. Throws UsageError where
/// it contradicts itself. Counts, word and exit code must follow from the judgements, and from `points`, where they
/// exist.
void read_verdict(const JsonPlace& root, const std::optional<std::vector<StoredStatus>>& points,
                  StoredVerdict& verdict);

/// Reads verdict.json, or the one in a run folder. Throws UsageError: "runs/a/verdict.json: ...".
StoredVerdict read_verdict_file(const std::string& path);

}  // namespace headrace::results
