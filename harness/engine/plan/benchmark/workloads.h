// The workloads of a benchmark that emulates training: the requirements of each version.
#pragma once

#include <span>
#include <string_view>

namespace headrace {

/// A file of the benchmark's configs/dlio/workload.
struct BenchmarkWorkload {
  const char* name;
  double batch, step_s;  // samples of a GPU's step, and its compute time
  double sample_bytes;   // that are read of one sample
  double samples_per_file;
  double utilization;     // the least that passes
  bool planning = false;  // for planning alone: no results are taken of it
};

/// A model whose checkpoints are saved and read.
struct BenchmarkModel {
  const char* name;
  double layers, hidden, ffn, heads, kv_heads;
  double tensor, pipeline, data;  // ranks are their product
  double bytes;                   // of one checkpoint of all ranks, as the benchmark reports them
  bool by_one_host;               // 8 ranks on one host may represent all, each with its own part
  double ranks() const { return tensor * pipeline * data; }
};

struct BenchmarkVersion {
  const char* name;  // as --rules has it
  std::span<const BenchmarkWorkload> workloads;
  std::span<const BenchmarkModel> models;
};

/// Every version there are rules of.
std::span<const BenchmarkVersion> benchmark_versions();

/// nullptr: there is none of that name.
const BenchmarkVersion* benchmark_version(std::string_view name);

}  // namespace headrace
