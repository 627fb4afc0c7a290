// Does what the job keeps fit?
#include <fmt/format.h>

#include "harness/analysis/sizing/parts.h"
#include "harness/base/units.h"

namespace headrace::sizing {
namespace {

/// A fact of the target's file system, as the first run that reports it found it.
std::optional<double> fact_of(std::span<const Session> sessions, const std::string& name) {
  for (const Session& session : sessions) {
    for (const results::StoredRun* run : session) {
      const auto fact = run->environment.find("file_system." + name);
      if (fact == run->environment.end()) continue;
      std::string word = fact->second;  // "12.3 GiB"
      std::erase(word, ' ');
      if (const Parsed parsed = parse_quantity(word, Dimension::bytes)) return parsed.value;
    }
  }
  return std::nullopt;
}

/// Free space as it was when the first run that reports it was taken.
std::optional<double> free_space(std::span<const Session> sessions) {
  for (const Session& session : sessions)
    for (const results::StoredRun* run : session)
      for (const results::StoredPoint& point : run->points)
        if (const results::StoredMetric* m = point.find("free_space")) return m->median;
  return fact_of(sessions, "free");
}

/// "The data set (1.82 TB) does", "The data set (1.82 TB) and the checkpoints (4.2 TB) do".
std::string what_to_keep(const Capacity& c) {
  std::string all;
  for (const CapacityPart& part : c.parts)
    all += fmt::format("{} {} ({})", all.empty() ? "The" : " and the", part.what,
                       format_quantity(part.bytes, Dimension::bytes));
  return all + (c.parts.size() == 1 && c.parts.front().what == "data set" ? " does" : " do");
}

}  // namespace

Capacity capacity_of(const job::Job& job, std::span<const Session> sessions) {
  Capacity c;
  if (job.dataset.samples) {
    const double bytes = *job.dataset.samples * job.dataset.stored_size();
    c.parts.push_back({"data set",
                       bytes,
                       {"", "n * S",
                        fmt::format("{} * {}", compact_quantity(*job.dataset.samples, Dimension::count),
                                    compact_quantity(job.dataset.stored_size(), Dimension::bytes)),
                        bytes, "B"}});
  }
  if (job.checkpoint && job.model.parameters) {
    const double size = *job.model.parameters * job.checkpoint->bytes_per_parameter + job.checkpoint->extra;
    const auto kept =
        job::apply("E10", {{"checkpoint_bytes", size}, {"kept_count", job.checkpoint->keep}, {"in_flight_count", 1}});
    c.parts.push_back({"checkpoints", kept.value(), derived(kept)});
  }
  for (const CapacityPart& part : c.parts) c.needed += part.bytes;
  c.usable = free_space(sessions);
  c.size = fact_of(sessions, "size");
  const auto describe = [](double bytes) { return format_quantity(bytes, Dimension::bytes); };
  if (c.parts.empty()) {
    c.explanation = "The job file has neither a number of samples nor of parameters.";
  } else if (!c.usable) {
    c.explanation = "No run has measured the free space (host_facts.free_space).";
  } else if (c.needed <= *c.usable) {
    c.outcome = Outcome::pass;
    c.explanation = fmt::format("{} to keep, {} free when it was measured.", describe(c.needed), describe(*c.usable));
  } else if (c.size && c.needed > *c.size) {
    c.outcome = Outcome::fail;
    c.explanation = fmt::format("{} not fit on the measured file system ({}).", what_to_keep(c), describe(*c.size));
  } else {
    // Its content may be the job's own data set, or files that will be deleted.
    c.outcome = Outcome::inconclusive;
    c.explanation = fmt::format("{} to keep, {} free when it was measured{}. The job's own data may fill the rest.",
                                describe(c.needed), describe(*c.usable), c.size ? " of " + describe(*c.size) : "");
  }
  return c;
}

}  // namespace headrace::sizing
