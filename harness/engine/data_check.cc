#include "harness/engine/data_check.h"

#include <fmt/format.h>

#include <memory>

#include "harness/engine/watched.h"
#include "harness/workload/data/data_set/sample.h"
#include "harness/workload/workload.h"

namespace headrace::engine {

StageEnd check_data(const Point& point, Node& node, std::uint64_t seed, const EngineLimits& limits,
                    const DataProgress& progress, PointResult& result) {
  const Ranks& ranks = node.ranks();
  if (node.team_index() >= node.team().size()) return {};
  const DataSet* data = as<ReadsFiles>(*point.workload).data();
  if (data != nullptr && ranks.places()[ranks.rank()].local_rank > 0) return {};
  if (data != nullptr && !data->generated()) {
    if (point.verify) add_note(result, "not verified: what files of yours must hold is not known");
    return {};
  }
  try {
    const auto wrong = std::make_shared<std::vector<WrongBlock>>();
    const WatchedEnd end = run_watched(
        "verifying", limits, progress,
        [workload = point.workload, wrong, all = point.verify, seed](const DataProgress& reported) {
          *wrong = all ? workload->verify(reported) : wrong_in_sample(*as<ReadsFiles>(*workload).data(), seed);
        });
    if (end.hung) return {PointStatus::error, end.why, true};
    result.wrong_blocks = std::move(*wrong);
    result.verified = point.verify;
  } catch (const Interrupted&) {
    return {PointStatus::interrupted, ""};
  } catch (const std::exception& e) {
    return {PointStatus::error, fmt::format("verify: {}", e.what())};
  }
  if (result.wrong_blocks.empty()) return {};
  const WrongBlock& first = result.wrong_blocks.front();
  const std::size_t more = result.wrong_blocks.size() - 1;
  return {PointStatus::error,
          fmt::format("{} found wrong data: {} at offset {}: {}{}",
                      point.verify ? "verify" : "a sample that is always read", first.file, first.offset, first.why,
                      more > 0 ? fmt::format(" (and {} more)", more) : "")};
}

}  // namespace headrace::engine
