// Any text as a job file: refused with problems that have a place, or a job whose needs are all
// numbers that can be held.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "harness/base/config/document.h"
#include "harness/job/formula.h"
#include "harness/job/need_output.h"
#include "harness/job/needs.h"
#include "tests/fuzz/invariant.h"

namespace {
using namespace headrace;
using fuzzing::expect;

/// YAML that was read is written so that it reads the same.
void check_written(const config::Value& root) {
  Diagnostics problems;
  const std::string text = config::to_yaml(root);
  const config::Value again = config::parse_yaml(text, "written.yaml", problems);
  expect(problems.empty(), "what is written can be read", text);
  expect(config::to_yaml(again) == text, "what is written reads the same", text);
}

void check_needs(const job::Job& job) {
  const auto needs = job::derive_needs(job);
  const auto values = job::derive_need_values(job);
  expect(!needs.empty() && needs.size() == values.size(), "with and without texts the needs are the same", job.name);
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const job::Need& need = needs[i];
    expect(std::isfinite(need.required) && need.required >= 0, "what is required is a number", need.id);
    expect(std::isfinite(need.need) && need.need >= 0, "a need is a number", need.id);
    expect(std::isfinite(need.uncertainty) && need.uncertainty >= 0, "an uncertainty is a number", need.id);
    expect(need.id == values[i].id && need.required == values[i].required, "one need, one value", need.id);
    for (const auto& [name, value] : need.inputs) expect(std::isfinite(value), "an input is a number", name);
  }
  expect(!job::needs_csv(needs).empty(), "needs have rows", job.name);
  const auto document = nlohmann::json::parse(job::needs_json(job, needs), nullptr, false);
  expect(!document.is_discarded() && document["needs"].size() == needs.size(), "needs are a JSON document", job.name);
  job::locked_needs(job);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Diagnostics problems;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const config::Value root = config::parse_yaml(text, "job.yaml", problems);
  if (problems.empty()) check_written(root);
  const bool good_yaml = problems.empty();
  const job::Job job = good_yaml ? job::parse_job(root, problems) : job::Job{};
  for (const Diagnostic& problem : problems.errors()) {
    expect(problem.where.file == "job.yaml", "a problem has a place", problem.text);
    expect(problem.where.line > 0 || root.is_null() || !good_yaml, "a problem has a line", problem.text);
    expect(!problem.text.empty(), "a problem has a text", to_string(problem));
  }
  if (problems.empty()) check_needs(job);
  return 0;
}
