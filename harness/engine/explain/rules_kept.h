// The rules of a benchmark that a finished rehearsal kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/engine/plan/benchmark/rules.h"
#include "harness/engine/run_result.h"

namespace headrace::engine {

/// The rules that only a measurement decides, by the counting repetitions of the whole pipeline. They are steps, runs,
/// cold caches, the mean utilization compared with `asked`, and whether every run repeats it.
std::vector<RuleCheck> check_measured(const PointResult& whole, double asked);

/// The same of saves and reads, of which each has to be of `bytes`; nullptr: nothing was measured.
std::vector<RuleCheck> check_measured_saves(const PointResult* saves, const PointResult* reads, double bytes);

/// The rules of a plan whose whole pipeline, or saves, were measured; nothing else.
std::optional<HeldRules> rules_held(const Plan& plan, const std::vector<PointResult>& points);

/// As people read it: a sentence each.
std::vector<std::string> describe(const HeldRules& held);

}  // namespace headrace::engine
