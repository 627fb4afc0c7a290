// A job's needs, as text for a terminal.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "benches/headrace/answer.h"
#include "benches/headrace/terminal.h"
#include "harness/job/job_sweep.h"
#include "harness/job/need_output.h"
#include "harness/job/needs.h"

namespace headrace::cli {

/// The first requirements with margin, and how to measure whether they are met. `file`: of the job.
Answer needs_answer(const job::Job& job, std::span<const job::Need> needs, const std::string& file);

/// A row per need, by its plain name: its values with margin at each scope. Needs that no verdict judges follow.
Text needs_table(const job::Job& job, std::span<const job::Need> needs, const Terminal& terminal);

/// One block per need, with its id: the values at each scope, the margin, the equation with its numbers.
Text needs_text(const job::Job& job, std::span<const job::Need> needs, const Terminal& terminal);

/// Which needs the job does not have, and the keys that would give them: their meaning, their unit.
Text locked_text(const job::Job& job, const Terminal& terminal);

/// A line per need and scope that `overrides` change; those that stay the same are counted.
Text changes_text(const job::Job& before, const job::Job& after, const std::vector<std::string>& overrides,
                  const Terminal& terminal);

/// A line per point; the needs that change, as many as fit.
Text sweep_text(const job::Sweep& sweep, const Terminal& terminal);

/// The keys of a job file, by section.
Text job_keys_text(const Terminal& terminal);

}  // namespace headrace::cli
