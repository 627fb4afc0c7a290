// Needs: the values of both documented examples, the texts, and what measures them.
#include "harness/requirements/needs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/diagnostics.h"
#include "harness/requirements/need_output.h"
#include "tests/unit/source_dir.h"

namespace headrace::requirements::needs_test {
namespace {

Job shipped(const std::string& name, const std::vector<std::string>& overrides = {}) {
  return load_job(source_dir() + "/configs/jobs/" + name + ".yaml", overrides);
}

const Need* find(const std::vector<Need>& needs, std::string_view id, Scope scope) {
  for (const Need& need : needs)
    if (need.id == id && need.scope == scope) return &need;
  return nullptr;
}

double required(const std::vector<Need>& needs, std::string_view id, Scope scope) {
  const Need* need = find(needs, id, scope);
  if (!need) ADD_FAILURE() << id << " is missing";
  return need ? need->required : 0;
}

/// To the digits that the documentation prints.
void expect_near(double value, double printed) { EXPECT_NEAR(value, printed, 1e-7 * printed) << value; }

TEST(Needs, Resnet50) {
  const auto needs = derive_needs(shipped("resnet50-imagenet"));
  EXPECT_EQ(required(needs, "ingest.sample_rate", Scope::cluster), 10240);
  EXPECT_EQ(required(needs, "ingest.read_bandwidth", Scope::node), 1.3312e9);
  EXPECT_EQ(required(needs, "ingest.read_bandwidth", Scope::gpu), 1.664e8);
  EXPECT_EQ(required(needs, "ingest.read_iops", Scope::node), 10240);
  EXPECT_EQ(required(needs, "ingest.open_rate", Scope::node), 10240);
  EXPECT_EQ(required(needs, "ingest.metadata_rate", Scope::node), 40960);
  expect_near(required(needs, "ingest.steady_read_bandwidth", Scope::node), 1.019881e9);
  EXPECT_EQ(required(needs, "host.cpu_cores", Scope::node), 128);
  EXPECT_EQ(required(needs, "host.prefetch_memory", Scope::node), 19730006016.0);
  EXPECT_EQ(required(needs, "host.memory_bandwidth", Scope::node), 39656161280.0);
  expect_near(required(needs, "gpu.h2d_bandwidth", Scope::gpu), 7.7070336e8);
  expect_near(required(needs, "gpu.h2d_bandwidth", Scope::node), 6.1656269e9);
  expect_near(required(needs, "network.gradient_busbw", Scope::gpu), 1.4933333e9);
  EXPECT_EQ(find(needs, "checkpoint.size", Scope::cluster), nullptr);
}

TEST(Needs, DecodingIsOfEachNodeAndOnlyWithACodec) {
  Job job = shipped("resnet50-imagenet");
  EXPECT_EQ(find(derive_needs(job), "host.decode_rate", Scope::node), nullptr);
  job.values["dataset.codec"] = "jpeg";
  job.dataset.codec = SampleCodec::jpeg;
  job.cluster.nodes = 4;
  EXPECT_EQ(required(derive_needs(job), "host.decode_rate", Scope::node), 10240);
  EXPECT_EQ(find(derive_needs(job), "host.decode_rate", Scope::cluster), nullptr);
  job.values["dataset.codec"] = "none";
  job.dataset.codec = SampleCodec::none;
  EXPECT_EQ(find(derive_needs(job), "host.decode_rate", Scope::node), nullptr);
}

void expect_collective(const Need* need, double message, double ranks, double stride, double nodes) {
  ASSERT_TRUE(need && need->collective);
  EXPECT_EQ(need->collective->message, message) << need->id;
  EXPECT_EQ(need->collective->ranks, ranks) << need->id;
  EXPECT_EQ(need->collective->stride, stride) << need->id;
  EXPECT_EQ(need->collective->nodes, nodes) << need->id;
  EXPECT_FALSE(need->informative) << need->id;
}

/// In which messages, among whom: Llama 3 70B, tensor 8, pipeline 4 on 256 nodes of 8.
TEST(Needs, NetworkNeedsTellTheirCollective) {
  const auto needs = derive_needs(shipped("llama3-70b"));
  const double activations = 8192.0 * 8192 * 2;
  expect_collective(find(needs, "network.gradient_busbw", Scope::gpu), 25 << 20, 64, 8, 64);
  expect_collective(find(needs, "network.node_bandwidth", Scope::node), 25 << 20, 64, 8, 64);
  expect_collective(find(needs, "network.tensor_busbw", Scope::gpu), activations, 8, 1, 1);
  expect_collective(find(needs, "network.pipeline_bandwidth", Scope::gpu), activations, 4, 512, 4);
  const auto mixed = derive_needs(shipped("mixtral-8x7b"));
  const Need* experts = find(mixed, "network.expert_busbw", Scope::gpu);
  if (experts) {
    EXPECT_EQ(experts->measured_by.front(), "nccl_all_to_all.busbw");
  }
  // A model smaller than a bucket is one message.
  const auto small = derive_needs(shipped("resnet50-imagenet", {"model.parameters=1000", "model.gradient_bytes=4"}));
  EXPECT_EQ(find(small, "network.gradient_busbw", Scope::gpu)->collective->message, 4000);
  const auto buckets = derive_needs(shipped("resnet50-imagenet", {"parallelism.bucket=1000001B"}));
  EXPECT_EQ(find(buckets, "network.gradient_busbw", Scope::gpu)->collective->message_size(), 1000000u);
}

/// How many NICs and how fast: of the job's own rate.
TEST(Needs, NicsAreJudged) {
  const auto needs = derive_needs(shipped("llama3-70b"));
  const Need* each = find(needs, "network.nic_bandwidth", Scope::node);
  const Need* all = find(needs, "network.nics", Scope::node);
  ASSERT_TRUE(each && all);
  EXPECT_FALSE(each->informative || all->informative);
  EXPECT_EQ(each->measured_by, (std::vector<std::string>{"rdma_write.nic_bandwidth", "tcp_stream.nic_bandwidth"}));
  EXPECT_EQ(all->measured_by, std::vector<std::string>{"network_ports.nics"});
  EXPECT_TRUE(each->measured_with.empty());
  EXPECT_EQ(all->required, 1);  // 26.4 of 48 GB/s
  EXPECT_EQ(all->need, 1);      // and 31.7 with the margin: one port still
  EXPECT_EQ(find(derive_needs(shipped("llama3-70b", {"safety=2"})), "network.nics", Scope::node)->need, 2);
  ASSERT_EQ(all->measured_with.size(), 1u);
  EXPECT_EQ(all->measured_with[0].name, "nic_rate");
  EXPECT_EQ(all->measured_with[0].value, 50e9);
  const auto json = nlohmann::json::parse(needs_json(shipped("llama3-70b"), std::vector{*all}));
  EXPECT_EQ(json["needs"][0]["measured_with"]["nic_rate"], 50e9);
}

TEST(Needs, Llm70b) {
  const auto needs = derive_needs(shipped("llm-70b"));
  expect_near(required(needs, "ingest.read_bandwidth", Scope::cluster), 5.5924053e6);
  EXPECT_EQ(required(needs, "checkpoint.size", Scope::cluster), 9.8e11);
  EXPECT_EQ(required(needs, "checkpoint.size", Scope::gpu), 9.5703125e8);
  EXPECT_EQ(required(needs, "gpu.d2h_bandwidth", Scope::gpu), 1.9140625e8);
  expect_near(required(needs, "checkpoint.write_bandwidth", Scope::cluster), 1.0919220e9);
  expect_near(required(needs, "checkpoint.write_bandwidth", Scope::node), 8.5306407e6);
  expect_near(required(needs, "checkpoint.restore_bandwidth", Scope::cluster), 3.2666667e9);
  EXPECT_EQ(required(needs, "checkpoint.capacity", Scope::cluster), 3.92e12);
  expect_near(required(needs, "network.gradient_busbw", Scope::gpu), 2.3546007e9);
  EXPECT_TRUE(find(needs, "checkpoint.size", Scope::node)->informative);
}

TEST(Needs, CarryTheirDerivation) {
  const auto needs = derive_needs(shipped("resnet50-imagenet"));
  const Need& bandwidth = *find(needs, "ingest.read_bandwidth", Scope::node);
  EXPECT_EQ(bandwidth.formula, "A3");
  EXPECT_EQ(bandwidth.equation, "R * S * alpha * (1 - h)");
  EXPECT_EQ(bandwidth.substituted, "10240/s * 130 kB * 1 * (1 - 0)");
  EXPECT_DOUBLE_EQ(bandwidth.need, 1.2 * 1.3312e9);
  EXPECT_EQ(bandwidth.measured_by, std::vector<std::string>{"small_file_read.read_bandwidth"});
  EXPECT_EQ(bandwidth.cache, "cold");
  const Need& rate = *find(needs, "ingest.sample_rate", Scope::cluster);
  EXPECT_EQ(rate.formula, "A1 of A2");
  EXPECT_EQ(rate.substituted, "2048 / 200 ms; B = 256 * 1 * 8 / (1 * 1 * 1)");
  EXPECT_EQ(find(needs, "network.gradient_busbw", Scope::gpu)->formula, "F18 of F6");
}

TEST(Needs, SharesDivideEvenly) {
  const auto needs = derive_needs(shipped("resnet50-imagenet", {"cluster.nodes=4"}));
  EXPECT_EQ(required(needs, "ingest.read_bandwidth", Scope::cluster), 4 * 1.3312e9);
  EXPECT_EQ(required(needs, "ingest.read_bandwidth", Scope::node), 1.3312e9);
  EXPECT_EQ(find(needs, "ingest.read_bandwidth", Scope::node)->equation, "(R * S * alpha * (1 - h)) / nodes");
  EXPECT_EQ(required(needs, "host.cpu_cores", Scope::node), 128);
}

TEST(Needs, LayoutChoosesFormulaAndWorkload) {
  const auto shards =
      derive_needs(shipped("resnet50-imagenet", {"dataset.layout=shards", "dataset.samples_per_file=1251"}));
  EXPECT_EQ(find(shards, "ingest.read_iops", Scope::node)->formula, "A6 of A3");
  EXPECT_EQ(required(shards, "ingest.read_iops", Scope::node), 1269.53125);
  EXPECT_EQ(find(shards, "ingest.sample_rate", Scope::node)->measured_by.front(), "shard_stream.sample_rate");
  const auto tokens = derive_needs(shipped("llm-70b"));
  EXPECT_EQ(find(tokens, "ingest.read_bandwidth", Scope::node)->measured_by.front(), "random_read.read_bandwidth");
}

TEST(Needs, ShardingChangesTheTraffic) {
  const auto busbw = [](const char* sharding) {
    return required(derive_needs(shipped("llm-70b", {std::string("parallelism.sharding=") + sharding})),
                    "network.gradient_busbw", Scope::gpu);
  };
  EXPECT_DOUBLE_EQ(busbw("none"),
                   busbw("zero2"));  // 2-byte weights and gradients: the same bytes in two halves
  EXPECT_DOUBLE_EQ(busbw("zero3") / busbw("zero1"),
                   8 * 3 / 2.0);  // every micro-batch: two gathers and a scatter
}

TEST(Needs, OneReplicaNeedsNoNetwork) {
  const auto needs = derive_needs(shipped("resnet50-imagenet", {"cluster.gpus_per_node=1"}));
  EXPECT_EQ(find(needs, "network.gradient_busbw", Scope::gpu), nullptr);
}

TEST(Needs, SynchronousSavesBlockForTheWrite) {
  const auto needs = derive_needs(shipped("llm-70b", {"checkpoint.mode=sync", "checkpoint.stall=60s"}));
  expect_near(required(needs, "checkpoint.write_bandwidth", Scope::cluster), 16333333333.333);
  EXPECT_EQ(find(needs, "gpu.d2h_bandwidth", Scope::gpu), nullptr);
  EXPECT_EQ(find(needs, "checkpoint.host_memory", Scope::node), nullptr);
}

TEST(Needs, ValuesAloneAreTheSame) {
  const Job job = shipped("llm-70b");
  const auto full = derive_needs(job), values = derive_need_values(job);
  ASSERT_EQ(full.size(), values.size());
  for (std::size_t i = 0; i < full.size(); ++i) {
    EXPECT_EQ(full[i].id, values[i].id);
    EXPECT_EQ(full[i].required, values[i].required);
  }
}

TEST(NeedOutput, JsonIsTheContract) {
  const Job job = shipped("resnet50-imagenet");
  const auto root = nlohmann::json::parse(needs_json(job, derive_needs(job)));
  EXPECT_EQ(root["schema"], 1);
  EXPECT_EQ(root["job"], "resnet50-imagenet");
  EXPECT_EQ(root["safety"], 1.2);
  for (const auto& need : root["needs"]) {
    if (need["id"] != "ingest.read_bandwidth" || need["scope"] != "node") continue;
    EXPECT_EQ(need["direction"], "at_least");
    EXPECT_EQ(need["required"], 1331200000.0);
    EXPECT_EQ(need["need"], 1597440000.0);
    EXPECT_EQ(need["unit"], "B/s");
    EXPECT_EQ(need["formula"], "A3");
    EXPECT_EQ(need["equation"], "R * S * alpha * (1 - h)");
    EXPECT_EQ(need["inputs"]["sample_rate_per_s"], 10240);
    EXPECT_EQ(need["inputs"]["sample_bytes"], 130000);
    EXPECT_EQ(need["measured_by"], nlohmann::json{"small_file_read.read_bandwidth"});
    return;
  }
  FAIL() << "no such need";
}

TEST(NeedOutput, CsvHasALinePerNeed) {
  const Job job = shipped("resnet50-imagenet");
  const auto needs = derive_needs(job);
  const std::string csv = needs_csv(needs);
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), needs.size() + 1);
  EXPECT_NE(csv.find("ingest.read_bandwidth,node,at_least,1331200000,1597440000,B/s,A3,"), std::string::npos);
}

}  // namespace
}  // namespace headrace::requirements::needs_test
