// Does what the job keeps fit?
#include <fmt/format.h>

#include "harness/sizing/parts.h"
#include "harness/units.h"

namespace headrace::sizing {
namespace {

/// Free space as it was when the first run that tells it was taken.
std::optional<double> free_space(std::span<const Session> sessions) {
  for (const Session& session : sessions) {
    for (const results::StoredRun* run : session) {
      for (const results::StoredPoint& point : run->points)
        if (const results::StoredMetric* m = point.find("free_space")) return m->median;
      const auto fact = run->environment.find("file_system.free");
      if (fact == run->environment.end()) continue;
      std::string word = fact->second;  // "12.3 GiB"
      std::erase(word, ' ');
      if (const Parsed parsed = parse_quantity(word, Dimension::bytes)) return parsed.value;
    }
  }
  return std::nullopt;
}

}  // namespace

Capacity capacity_of(const requirements::Job& job, std::span<const Session> sessions) {
  Capacity c;
  if (job.dataset.samples) {
    const double bytes = *job.dataset.samples * job.dataset.sample_size;
    c.parts.push_back(
        {"data set",
         bytes,
         {"", "n * S",
          fmt::format("{} * {}", compact_quantity(*job.dataset.samples, Dimension::count),
                      compact_quantity(job.dataset.sample_size, Dimension::bytes)),
          bytes, "B"}});
  }
  if (job.checkpoint && job.model.parameters) {
    const double size =
        *job.model.parameters * job.checkpoint->bytes_per_parameter + job.checkpoint->extra;
    const auto kept = requirements::apply(
        "E10",
        {{"checkpoint_bytes", size}, {"kept_count", job.checkpoint->keep}, {"in_flight_count", 1}});
    c.parts.push_back({"checkpoints", kept.value(), derived(kept)});
  }
  for (const CapacityPart& part : c.parts) c.needed += part.bytes;
  c.usable = free_space(sessions);
  if (c.parts.empty()) {
    c.explanation = "The job tells neither how many samples nor how many parameters it has.";
  } else if (!c.usable) {
    c.explanation = "No run tells how much space is free (host_facts.free_space).";
  } else {
    c.outcome = c.needed <= *c.usable ? Outcome::pass : Outcome::fail;
    c.explanation = fmt::format("{} to keep, {} free when it was measured.",
                                format_quantity(c.needed, Dimension::bytes),
                                format_quantity(*c.usable, Dimension::bytes));
    if (c.outcome == Outcome::fail && c.parts.front().what == "data set")
      c.explanation += " What already holds the data set has more to give than this.";
  }
  return c;
}

}  // namespace headrace::sizing
