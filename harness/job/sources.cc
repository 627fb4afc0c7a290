// The list of publications.
#include "harness/job/sources.h"

#include <cctype>

namespace headrace::job {
namespace {

bool names(std::string_view text, std::string_view word) {
  const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-'; };
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; at += word.size()) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !inside(text[at - 1])) && (end == text.size() || !inside(text[end]))) return true;
  }
  return false;
}

}  // namespace

std::span<const Source> sources() {
  static constexpr Source kSources[] = {
      {"Al-Fares 2008", "Al-Fares et al., A Scalable, Commodity Data Center Network Architecture, SIGCOMM 2008"},
      {"AWS",
       "Amazon S3 User Guide: performance guidelines, design patterns, multipart limits; S3 price "
       "list"},
      {"CORGI", "Xu et al., CorgiPile, VLDB Journal 2024; Livne et al., Corgi2, arXiv 2309.01640"},
      {"CUDA", "NVIDIA, CUDA C++ Best Practices Guide: data transfer and pinned memory"},
      {"DALY",
       "Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, FGCS "
       "22(3), 2006"},
      {"DEEPEP", "DeepEP, github.com/deepseek-ai/DeepEP"},
      {"DLIO",
       "Devarajan et al., DLIO: A Data-Centric Benchmark for Scientific Deep Learning "
       "Applications, CCGrid 2021"},
      {"DSTALL",
       "Mohan et al., Analyzing and Mitigating Data Stalls in DNN Training, PVLDB 14(5), 2021, "
       "arXiv 2007.06775"},
      {"HB15", "Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems, SC 2015"},
      {"INTEL", "Intel AN 708, Understanding PCI Express Throughput"},
      {"KWS", "Linux, mm/workingset.c: two-list reclaim and refault distance"},
      {"LLAMA3", "Llama Team, The Llama 3 Herd of Models, arXiv 2407.21783"},
      {"Little 1961", "Little, A Proof for the Queuing Formula L = lambda W, Operations Research 9(3), 1961"},
      {"MEG21",
       "Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, SC 2021, "
       "arXiv 2104.04473"},
      {"MEG22",
       "Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, arXiv "
       "2205.05198"},
      {"MEGOPT", "Megatron Core, Distributed Optimizer (18 B per parameter; 6 + 12/d)"},
      {"MLENG", "Bekman, Machine Learning Engineering, network chapter, github.com/stas00/ml-engineering"},
      {"MLPS",
       "MLCommons Storage, submission guidelines and rules v2.0 to v4.0, "
       "github.com/mlcommons/storage"},
      {"NCCL", "NCCL, src/graph/tuning.cc"},
      {"NCCL-T", "nccl-tests, doc/PERFORMANCE.md"},
      {"PALM", "Chowdhery et al., PaLM, arXiv 2204.02311 (model FLOPs utilization, 6 P)"},
      {"PT-DCP", "PyTorch recipe, Asynchronous Saving with Distributed Checkpoint"},
      {"PT-DL", "PyTorch, torch.utils.data reference"},
      {"PT-FSDP", "Zhao et al., PyTorch FSDP, arXiv 2304.11277"},
      {"PT-PIN", "PyTorch tutorial, non_blocking and pin_memory"},
      {"RING", "Liu et al., Ring Attention, arXiv 2310.01889"},
      {"SPOD", "NVIDIA, DGX SuperPOD Reference Architecture featuring DGX H100, RA-11333-001 V11"},
      {"THAKUR",
       "Thakur et al., Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), "
       "2005"},
      {"ULY", "Jacobs et al., DeepSpeed Ulysses, arXiv 2309.14509"},
      {"WDS", "WebDataset documentation"},
      {"YOUNG", "Young, A first order approximation to the optimum checkpoint interval, CACM 17(9), 1974"},
      {"ZERO", "Rajbhandari et al., ZeRO, SC 2020, arXiv 1910.02054"},
  };
  return kSources;
}

std::vector<Source> sources_named_in(std::string_view text) {
  std::vector<Source> named;
  for (const Source& source : sources())
    if (names(text, source.word)) named.push_back(source);
  return named;
}

}  // namespace headrace::job
