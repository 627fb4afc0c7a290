#include "harness/engine/plan/benchmark/workloads.h"

#include <algorithm>
#include <array>

namespace headrace {
namespace {

constexpr bool kPlanning = true;

// MLPerf Storage 2.0.
constexpr std::array kMlperf2{BenchmarkWorkload{"unet3d_a100", 7, 0.636, 146600628, 1, 0.9},
                              BenchmarkWorkload{"unet3d_h100", 7, 0.323, 146600628, 1, 0.9},
                              BenchmarkWorkload{"resnet50_a100", 400, 0.435, 114660, 1251, 0.9},
                              BenchmarkWorkload{"resnet50_h100", 400, 0.224, 114660, 1251, 0.9},
                              BenchmarkWorkload{"cosmoflow_a100", 1, 0.00551, 2828486, 1, 0.7},
                              BenchmarkWorkload{"cosmoflow_h100", 1, 0.0035, 2828486, 1, 0.7}};

// MLPerf Storage 3.0: which of them results are taken of is reported in training/README.md. Of dlrm's 761 B a row the columns with
// `read: true` have 160.
constexpr std::array kMlperf3{BenchmarkWorkload{"unet3d_b200", 7, 0.162, 146600628, 1, 0.9},
                              BenchmarkWorkload{"retinanet_b200", 24, 0.04755, 322957, 1, 0.85},
                              BenchmarkWorkload{"retinanet_mi355", 32, 0.0634, 322957, 1, 0.85},
                              BenchmarkWorkload{"dlrm_b200", 16384, 0.000375, 160, 4718592, 0.7, kPlanning},
                              BenchmarkWorkload{"dlrm_mi355", 16384, 0.0005625, 160, 4718592, 0.7, kPlanning},
                              BenchmarkWorkload{"flux_b200", 48, 1.35, 2164832, 288, 0.9, kPlanning},
                              BenchmarkWorkload{"flux_mi355", 72, 2.025, 2164832, 288, 0.9, kPlanning},
                              BenchmarkWorkload{"unet3d_a100", 7, 0.636, 146600628, 1, 0.9, kPlanning},
                              BenchmarkWorkload{"resnet50_a100", 400, 0.435, 114660, 1251, 0.9, kPlanning},
                              BenchmarkWorkload{"resnet50_h100", 400, 0.224, 114660, 1251, 0.9, kPlanning},
                              BenchmarkWorkload{"cosmoflow_a100", 1, 0.00551, 2828486, 1, 0.7, kPlanning},
                              BenchmarkWorkload{"cosmoflow_h100", 1, 0.0035, 2828486, 1, 0.7, kPlanning}};

// Table 2 of both versions' rules, in units of 1024. In 3.0 one host may represent all hosts for the smallest model
// only (checkpointSubsetRunValidation).
constexpr double kGiB = 1 << 30, kTiB = 1024 * kGiB;
constexpr bool kByOneHost = true;

constexpr BenchmarkModel llama3_8b{"llama3_8b", 32, 4096, 14336, 32, 8, 1, 1, 8, 105 * kGiB, kByOneHost};

constexpr std::array kModels2{
    llama3_8b, BenchmarkModel{"llama3_70b", 80, 8192, 28672, 128, 8, 8, 1, 8, 912 * kGiB, kByOneHost},
    BenchmarkModel{"llama3_405b", 126, 16384, 53248, 128, 8, 8, 32, 2, 5.29 * kTiB, kByOneHost},
    BenchmarkModel{"llama3_1t", 128, 25872, 98304, 192, 32, 8, 64, 2, 18 * kTiB, kByOneHost}};

constexpr std::array kModels3{llama3_8b,
                              BenchmarkModel{"llama3_70b", 80, 8192, 28672, 128, 8, 8, 1, 8, 912 * kGiB, false},
                              BenchmarkModel{"llama3_405b", 126, 16384, 53248, 128, 8, 8, 32, 2, 5.29 * kTiB, false},
                              BenchmarkModel{"llama3_1t", 128, 25872, 98304, 192, 32, 8, 64, 2, 18 * kTiB, false}};

constexpr std::array kVersions{BenchmarkVersion{"mlperf-v2", kMlperf2, kModels2},
                               BenchmarkVersion{"mlperf-v3", kMlperf3, kModels3}};

}  // namespace

std::span<const BenchmarkVersion> benchmark_versions() { return kVersions; }

const BenchmarkVersion* benchmark_version(std::string_view name) {
  const auto* const at = std::ranges::find(kVersions, name, &BenchmarkVersion::name);
  return at == kVersions.end() ? nullptr : at;
}

}  // namespace headrace
