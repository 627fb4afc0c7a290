// The table of needs: complete, nothing too much, and what it names is there.
#include "harness/job/need_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "harness/job/job.h"
#include "harness/job/needs.h"
#include "harness/workload/registry.h"
#include "tests/unit/source_dir.h"

namespace headrace::job::need_kinds_test {
namespace {

/// The needs that the sources make, whatever the job.
std::set<std::string> made() {
  std::set<std::string> ids;
  const std::regex adds(R"re((?:needs\.add(?:_shared)?\(|add_rate\(needs,)\s*"([^"]+)")re");
  const std::regex pairs(R"re(add_call_times\(job, [^"]*"([^"]+)",\s*"([^"]+)")re");
  for (const auto& file : std::filesystem::directory_iterator(source_dir() + "/harness/job")) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with("needs_") || !name.ends_with(".cc")) continue;
    std::ostringstream source;
    source << std::ifstream(file.path()).rdbuf();
    const std::string text = source.str();
    for (std::sregex_iterator at(text.begin(), text.end(), adds), end; at != end; ++at) ids.insert((*at)[1]);
    for (std::sregex_iterator at(text.begin(), text.end(), pairs), end; at != end; ++at)
      ids.insert({(*at)[1], (*at)[2]});
  }
  return ids;
}

TEST(NeedKinds, ARowForEveryNeedAndNoOther) {
  std::set<std::string> rows;
  for (const NeedKind& kind : need_kinds())
    EXPECT_TRUE(rows.insert(std::string(kind.id)).second) << kind.id << " stands twice";
  EXPECT_EQ(rows, made());
}

/// Jobs have no other needs than the sources name.
TEST(NeedKinds, ShippedJobsFindTheirRows) {
  for (const auto& file : std::filesystem::directory_iterator(source_dir() + "/configs/jobs"))
    for (const Need& need : derive_needs(load_job(file.path().string(), {})))
      EXPECT_EQ(need.cache, need_kind(need.id).cache) << need.id;
}

/// Of every workload that this build has.
TEST(NeedKinds, TheirMeasurementsExist) {
  std::set<std::string_view> known;
  for (const NeedKind& kind : need_kinds())
    for (const Measure& m : kind.measured_by) {
      const std::size_t dot = m.metric.find('.');
      const WorkloadInfo* info = Registry::instance().find(std::string(m.metric.substr(0, dot)));
      if (info == nullptr) continue;
      known.insert(m.metric.substr(0, dot));
      EXPECT_TRUE(
          std::ranges::any_of(info->metrics, [&](const Metric& each) { return each.name == m.metric.substr(dot + 1); }))
          << kind.id << ": " << m.metric;
    }
  for (const char* workload : {"small_file_read", "checkpoint_write", "host_facts", "h2d", "mpi_all_reduce"})
    EXPECT_TRUE(known.contains(workload)) << workload;
}

TEST(NeedKinds, OfAJob) {
  const auto metrics = [](std::string_view id, Scope scope, const std::vector<std::string>& set) {
    std::vector<std::string_view> all;
    for (const Measure& m :
         measures(need_kind(id), scope, load_job(source_dir() + "/configs/jobs/llama3-70b.yaml", set)))
      all.push_back(m.metric);
    return all;
  };
  using Metrics = std::vector<std::string_view>;
  EXPECT_EQ(metrics("gpu.h2d_bandwidth", Scope::gpu, {}), Metrics{"h2d.bandwidth"});
  EXPECT_EQ(metrics("gpu.h2d_bandwidth", Scope::node, {}), Metrics{"h2d.node_bandwidth"});
  EXPECT_EQ(metrics("ingest.open_rate", Scope::node, {"dataset.layout=files"}), Metrics{"small_file_read.open_rate"});
  EXPECT_EQ(metrics("ingest.open_rate", Scope::node, {"dataset.layout=shards"}),
            (Metrics{"small_file_read.open_rate", "metadata.open_rate"}));
  EXPECT_EQ(metrics("network.context_busbw", Scope::gpu, {"parallelism.context_method=ring"}).front(),
            "nccl_send_recv.busbw");
  EXPECT_EQ(metrics("network.context_busbw", Scope::gpu, {"parallelism.context_method=ulysses"}).front(),
            "nccl_all_to_all.busbw");
}

TEST(NeedKinds, NamesAreNotBytes) {
  EXPECT_TRUE(is_of_names("small_file_read.open_rate"));
  EXPECT_TRUE(is_of_names("small_file_read.metadata_rate"));
  EXPECT_FALSE(is_of_names("small_file_read.sample_rate"));
  EXPECT_FALSE(is_of_names("metadata.operation_rate"));  // its own proof is that of names
}

/// Workers that are processes pass batches on through /dev/shm; threads share memory.
TEST(NeedKinds, OfALoadersWorkers) {
  const auto needs = [](const std::vector<std::string>& set) {
    std::vector<std::string> all{"dataset.layout=files", "loader.workers_per_gpu=4", "dataset.decoded_size=600kB",
                                 "dataset.read_profile=whole"};
    all.insert(all.end(), set.begin(), set.end());
    std::map<std::string, std::string> found;
    for (const Need& need : derive_needs(load_job(source_dir() + "/configs/jobs/resnet50-imagenet.yaml", all)))
      if (need.id.starts_with("host.") && !need.measured_by.empty()) found[need.id] = need.measured_by.front();
    return found;
  };
  for (const char* kind : {"pytorch", "pytorch_iterable"}) {
    auto of_processes = needs({std::string("loader.kind=") + kind});
    EXPECT_EQ(of_processes["host.prefetch_memory"], "host_facts.shared_memory_available") << kind;
    EXPECT_EQ(of_processes["host.loader_processes"], "host_facts.processes_available") << kind;
    EXPECT_EQ(of_processes["host.loader_files"], "host_facts.open_files") << kind;
  }
  for (const std::string set : {"loader.kind=tfdata", "loader.kind=in_flight"}) {
    auto of_threads = needs({set});
    EXPECT_EQ(of_threads["host.prefetch_memory"], "host_facts.memory_available") << set;
    EXPECT_FALSE(of_threads.contains("host.loader_processes")) << set;
  }
}

TEST(NeedKinds, DeclaredNeedsHaveNone) {
  EXPECT_EQ(find_need_kind("ingest.my_own"), nullptr);
  EXPECT_DEATH(need_kind("ingest.my_own"), "no row for the need ingest.my_own");
}

TEST(NeedKinds, ValuesAsPeopleReadThem) {
  EXPECT_EQ(format_named(22.05 * 1024 * 1024 * 1024, "B", "host.prefetch_memory"), "22.1 GiB");
  EXPECT_EQ(format_named(22.05 * 1024 * 1024 * 1024, "B", "host_facts.memory_available"), "22.1 GiB");
  EXPECT_EQ(format_named(83e9, "B", "host_facts.free_space"), "83.0 GB");
  EXPECT_EQ(format_named(83e9, "B", "checkpoint.capacity"), "83.0 GB");
  EXPECT_EQ(format_named(1.6e9, "B/s", "host.memory_bandwidth"), "1.60 GB/s");
  EXPECT_EQ(format_named(659e3, "ns", "latency_p50_ns"), "659 \u00b5s");
}

}  // namespace
}  // namespace headrace::job::need_kinds_test
