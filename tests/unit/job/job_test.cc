// Job files: every value. Every problem with its place, and combinations that cannot be: tests/cases/usage/jobs.yaml.
#include "harness/job/job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "harness/base/units.h"
#include "harness/job/job_keys.h"
#include "tests/unit/source_dir.h"

namespace headrace::job::job_test {
namespace {

constexpr const char* kGood = R"(schema: 1
job: test
cluster: {nodes: 2, gpus_per_node: 8}
step: {time: 200ms, micro_batch: 256}
dataset: {layout: files, sample_size: 130kB}
)";

Job parse(const std::string& text, Diagnostics& problems, const std::vector<std::string>& overrides = {}) {
  config::Value root = config::parse_yaml(text, "job.yaml", problems);
  for (const std::string& assignment : overrides) config::apply_override(root, assignment, problems);
  return parse_job(root, problems);
}

Job good(const std::string& text, const std::vector<std::string>& overrides = {}) {
  Diagnostics problems;
  Job job = parse(text, problems, overrides);
  for (const Diagnostic& d : problems.errors()) ADD_FAILURE() << to_string(d);
  return job;
}

/// What the user reads, a line per problem.
std::string describe(const std::string& text, const std::vector<std::string>& overrides = {}) {
  Diagnostics problems;
  parse(text, problems, overrides);
  try {
    problems.throw_if_any();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(Job, ReadsValuesAndDefaults) {
  const Job job = good(kGood);
  EXPECT_EQ(job.name, "test");
  EXPECT_EQ(job.cluster.gpus(), 16);
  EXPECT_EQ(job.step.time, 0.2);
  EXPECT_EQ(job.step.accumulation, 1);
  EXPECT_EQ(job.dataset.sample_size, 130000);
  EXPECT_EQ(job.dataset.request_size, 1048576);
  EXPECT_EQ(job.parallelism.window, 2.0 / 3);
  EXPECT_EQ(job.safety, 1.2);
  EXPECT_FALSE(job.checkpoint || job.cache || job.dataset.samples || job.model.parameters);
}

TEST(Job, EveryKeyIsReadFromTheTable) {
  std::string text;
  std::string section = "?";
  for (const JobKey& key : job_keys()) {
    if (key.section() != section && !key.section().empty()) text += std::string(key.section()) + ":\n";
    section = key.section();
    std::string value = key.set_text           ? "word"
                        : !key.choices.empty() ? key.choices.back()
                                               : exact_quantity(1, key.dimension);
    if (key.path == "checkpoint.interval" || key.path == "checkpoint.restore") value = "2s";
    if (key.path == "fabric.switch_ports") value = "2";
    if (key.path == "dataset.layout") value = "shards";
    if (key.path == "dataset.codec") value = "png";
    text += std::string(section.empty() ? "" : "  ") + std::string(key.name()) + ": " + value + "\n";
  }
  const Job job = good(text);
  EXPECT_EQ(job.values.size(), job_keys().size());
  EXPECT_EQ(job.dataset.layout, Layout::shards);
  EXPECT_EQ(job.dataset.codec, SampleCodec::png);
  EXPECT_EQ(job.parallelism.sharding, Sharding::zero3);
  EXPECT_TRUE(job.checkpoint->async);
  EXPECT_EQ(job.cache->available, 1);
  EXPECT_EQ(job.local_cache->policy, CachePolicy::cooperative);
  EXPECT_EQ(job.object_store->request_price, 1);
  EXPECT_EQ(job.fabric->tiers, 1);
}

constexpr const char* kShape =
    "model: {layers: 32, hidden: 4096, ffn: 14336, vocabulary: 128256, heads: 32, kv_heads: 8, "
    "sequence_length: 8192}\n";

TEST(Job, DerivesUnmeasuredValues) {
  std::string text = std::string(kGood) + kShape;
  text.replace(text.find("time: 200ms"), 11, "mfu: 0.4");
  text.insert(text.find("gpus_per_node: 8") + 16, ", gpu_flops: 989TFLOP/s, reference_mtbf: 3h, reference_gpus: 16384");
  const Job job = good(text);
  EXPECT_EQ(job.model.parameters, 8030261248);  // E2
  EXPECT_DOUBLE_EQ(job.step.time,
                   6 * 8030261248.0 * (256 * 16 * 8192.0) / (16 * 989e12 * 0.4));  // A13
  EXPECT_DOUBLE_EQ(*job.cluster.mtbf, 3 * 3600 * 1024.0);                          // E14
  EXPECT_EQ(job.derived.size(), 4u);
  EXPECT_EQ(job.values.at("model.parameters"), "8030261248");
  EXPECT_EQ(good(text, {"step.time=1s", "model.parameters=8e9"}).derived.size(),
            2u);  // given values stand
  EXPECT_NE(describe(text, {"step.mfu=~"}).find("step.mfu: has no value"), std::string::npos);
  text.replace(text.find("mfu: 0.4, "), 10, "");
  EXPECT_EQ(describe(text),
            "job.yaml:4:7: step.time: missing: stall-free time of one optimizer step (above 0 s); "
            "or give cluster.gpu_flops, step.mfu, model.parameters and model.sequence_length");
}

TEST(Job, KeepsEffectiveValuesAsTheyAreReadBack) {
  const Job job = good(kGood);
  EXPECT_EQ(job.values.at("dataset.sample_size"), "130000B");
  EXPECT_EQ(job.values.at("step.time"), "0.2s");
  EXPECT_EQ(job.values.at("dataset.layout"), "files");
  EXPECT_EQ(job.values.at("loader.prefetch_factor"), "2");
  EXPECT_EQ(job.values.count("checkpoint.keep"), 0u);
  for (const auto& [path, text] : job.values) {
    const JobKey* key = find_job_key(path);
    ASSERT_NE(key, nullptr) << path;
    if (!key->set_text && key->choices.empty()) {
      EXPECT_TRUE(parse_quantity(text, key->dimension)) << path;
    }
  }
}

TEST(Job, FallbacksAreAllowedValues) {
  for (const JobKey& key : job_keys()) {
    if (key.fallback.empty()) continue;
    if (!key.choices.empty()) {
      EXPECT_TRUE(std::count(key.choices.begin(), key.choices.end(), key.fallback)) << key.path;
    } else {
      const Parsed parsed = parse_quantity(key.fallback, key.dimension);
      EXPECT_TRUE(parsed && key.range.allows(parsed.value)) << key.path << ' ' << parsed.error;
    }
  }
}

TEST(Job, ReadsAsTheLayoutUsuallyIsRead) {
  const Job files = good(kGood);
  EXPECT_EQ(files.dataset.read_profile, ReadProfile::whole);
  EXPECT_EQ(files.loader.kind, LoaderKind::pytorch);
  EXPECT_EQ(files.values.at("dataset.read_profile"), "whole");
  EXPECT_EQ(files.dataset.path, "");
  EXPECT_EQ(good(kGood, {"dataset.layout=shards"}).dataset.read_profile, ReadProfile::wds);
  EXPECT_EQ(good(kGood, {"dataset.layout=tokens"}).values.at("dataset.read_profile"), "mmap");
  const Job given = good(kGood, {"dataset.read_profile=pil", "loader.kind=in_flight", "dataset.path=/data/imagenet"});
  EXPECT_EQ(given.dataset.read_profile, ReadProfile::pil);
  EXPECT_EQ(given.loader.kind, LoaderKind::in_flight);
  EXPECT_EQ(given.dataset.path, "/data/imagenet");
  EXPECT_EQ(given.derived.count("dataset.read_profile"), 0u);
}

TEST(Job, ReadsSpreads) {
  const Job job = good(kGood, {"dataset.sample_size=130kB \u00b1 10kB", "step.time=200ms +- 5%", "safety=1.2 +/- 0"});
  EXPECT_EQ(job.dataset.sample_size, 130000);
  EXPECT_EQ(job.spreads.at("dataset.sample_size"), 10000);
  EXPECT_DOUBLE_EQ(job.spreads.at("step.time"), 0.01);
  EXPECT_EQ(job.spreads.size(), 2u);
}

TEST(Job, ShippedJobsAreGood) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_dir() + "/configs/jobs")) {
    EXPECT_NO_THROW(load_job(file.path())) << file.path();
    ++count;
  }
  EXPECT_GE(count, 2);
}

}  // namespace
}  // namespace headrace::job::job_test
