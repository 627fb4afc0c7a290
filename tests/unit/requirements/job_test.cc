// Job files: every value, every problem with its place, overrides, combinations that cannot be.
#include "harness/requirements/job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "harness/base/units.h"
#include "harness/requirements/job_keys.h"
#include "tests/unit/source_dir.h"

namespace headrace::requirements::job_test {
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
std::string told(const std::string& text, const std::vector<std::string>& overrides = {}) {
  Diagnostics problems;
  parse(text, problems, overrides);
  try {
    problems.throw_if_any();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

/// kGood with one line of text put at the end of a section's flow map.
std::string with(std::string line, const std::string& at) {
  std::string text = kGood;
  text.insert(text.find(at) + at.size(), ", " + line);
  return text;
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

TEST(Job, DecodesOnlyWhatCanBeDecoded) {
  EXPECT_EQ(good(kGood).dataset.codec, SampleCodec::none);
  EXPECT_EQ(good(kGood, {"dataset.codec=jpeg", "dataset.image_size=64"}).dataset.image_size, 64);
  EXPECT_NE(told(kGood, {"dataset.codec=jpeg", "dataset.layout=tokens"}).find("dataset.codec: tokens are not decoded"),
            std::string::npos);
  for (const char* codec : {"dataset.codec=zstd", "dataset.codec=npz", "dataset.codec=none"})
    EXPECT_NE(told(kGood, {codec, "dataset.image_size=64"}).find("dataset.image_size: only images are resized"),
              std::string::npos);
  EXPECT_NE(told(kGood, {"dataset.codec=jpg"}).find("did you mean 'jpeg'?"), std::string::npos);
}

constexpr const char* kShape =
    "model: {layers: 32, hidden: 4096, ffn: 14336, vocabulary: 128256, heads: 32, kv_heads: 8, "
    "sequence_length: 8192}\n";

TEST(Job, DerivesWhatWasNotMeasured) {
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
  EXPECT_NE(told(text, {"step.mfu=~"}).find("step.mfu: has no value"), std::string::npos);
  text.replace(text.find("mfu: 0.4, "), 10, "");
  EXPECT_EQ(told(text),
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

TEST(Job, TellsEachProblemWithItsPlace) {
  EXPECT_EQ(told(with("tim: 3s", "time: 200ms")),
            "job.yaml:4:21: step: unknown key 'tim'; did you mean 'time'? (keys: time, "
            "micro_batch, accumulation, mfu, utilization, target_utilization)");
  EXPECT_EQ(told(with("sample_size: 1kB", "time: 200ms")),
            "job.yaml:4:21: step: unknown key 'sample_size'; it belongs to 'dataset' (keys: time, "
            "micro_batch, accumulation, mfu, utilization, target_utilization)");
  EXPECT_EQ(told(with("accumulation: 0", "time: 200ms")),
            "job.yaml:4:35: step.accumulation: 0 is out of range: must be a whole number, at least 1");
  EXPECT_EQ(told(with("accumulation: 1.5", "time: 200ms")),
            "job.yaml:4:35: step.accumulation: 1.5 is out of range: must be a whole number, at least 1");
  EXPECT_EQ(told(with("request_size: 64", "layout: files")),
            "job.yaml:5:40: dataset.request_size: '64' needs a unit: B, kB, MB, GB, TB, PB, KiB, "
            "MiB, GiB, TiB, PiB");
  EXPECT_EQ(told(with("request_size: 2s", "layout: files")),
            "job.yaml:5:40: dataset.request_size: 's' is a unit of time, a size is needed: B, kB, "
            "MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB");
  EXPECT_EQ(told(with("read_amplification: 0.5", "layout: files")),
            "job.yaml:5:46: dataset.read_amplification: 0.5 is out of range: must be at least 1");
  EXPECT_EQ(told(with("layout: shards", "layout: files")), "job.yaml:5:26: duplicate key 'layout' (first at line 5)");
  EXPECT_EQ(told(std::string(kGood) + "parallelism: {sharding: zero4}\n"),
            "job.yaml:6:25: parallelism.sharding: 'zero4' is not allowed; did you mean 'zero1'? "
            "(allowed: none | zero1 | zero2 | zero3)");
  EXPECT_EQ(told(std::string(kGood) + "loader: [1]\n"),
            "job.yaml:6:9: loader: must be a map of keys (kind, workers_per_gpu, prefetch_factor, cpu_time_per_batch, "
            "utilization, shuffle_buffer, shuffle_initial, on_error)");
  EXPECT_EQ(told(with("samples: ", "layout: files")), "job.yaml:5:35: dataset.samples: has no value: above 0");
  EXPECT_EQ(told(with("samples: [1]", "layout: files")), "job.yaml:5:35: dataset.samples: must be a single value");
}

TEST(Job, TellsAllProblemsAtOnce) {
  const std::string all = told("schema: 2\njob: x\nclustr: {}\nstep: {time: 5, micro_batch: -1}\n");
  for (const char* part :
       {"job.yaml:1:9: schema", "job.yaml:3:1: unknown key 'clustr'; did you mean 'cluster'?", "cluster.nodes: missing",
        "cluster.gpus_per_node: missing", "job.yaml:4:14: step.time: '5' needs a unit",
        "job.yaml:4:30: step.micro_batch", "dataset.layout: missing", "dataset.sample_size: missing"})
    EXPECT_NE(all.find(part), std::string::npos) << part << "\nnot in\n" << all;
  EXPECT_NE(told("").find("a job file is a map"), std::string::npos);
  EXPECT_NE(told("- 1\n").find("a job file is a map"), std::string::npos);
}

TEST(Job, RefusesCombinationsThatCannotBe) {
  EXPECT_EQ(told(std::string(kGood) + "parallelism: {tensor: 3}\n"),
            "job.yaml:3:36: cluster.gpus_per_node: 16 GPUs (2 nodes * 8) cannot be divided by "
            "tensor * pipeline * context = 3 * 1 * 1 = 3");
  EXPECT_NE(
      told(std::string(kGood) + "parallelism: {pipeline: 2, expert: 3}\n").find("job.yaml:6:36: parallelism.expert"),
      std::string::npos);
  const std::string save = std::string(kGood) + "model: {parameters: 1e9}\ncheckpoint: {interval: 1min, stall: ";
  EXPECT_EQ(told(save + "2min}\n"),
            "job.yaml:7:37: checkpoint.stall: 2 min must be at most checkpoint.interval = 60 s");
  EXPECT_EQ(told(save + "1min}\n"), "");
  EXPECT_NE(told(save + "1min, mode: async}\n").find("must be shorter than"), std::string::npos);
  EXPECT_NE(told(std::string(kGood) + "checkpoint: {interval: 1min, stall: 1s}\n").find("model.parameters: missing"),
            std::string::npos);
  EXPECT_NE(told(std::string(kGood) + "model: {experts: 8, top_k: 9}\n")
                .find("model.top_k: 9 must be at most model.experts = 8"),
            std::string::npos);
  EXPECT_NE(told(std::string(kGood) + "model: {experts: 9}\nparallelism: {expert: 2}\n")
                .find("model.experts: 9 cannot be divided"),
            std::string::npos);
  EXPECT_NE(told(std::string(kGood) + "model: {layers: 3}\nparallelism: {pipeline: 4}\n")
                .find("model.layers: 3 layers cannot fill"),
            std::string::npos);
  EXPECT_NE(told(std::string(kGood), {"step.utilization=0.95"}).find("step.target_utilization: must be at least"),
            std::string::npos);
  EXPECT_NE(
      told(std::string(kGood) + "model: {parameters: 1e9}\nparallelism: {window: 0}\n").find("parallelism.window"),
      std::string::npos);
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

TEST(Job, RefusesLoadersThatCannotReadSo) {
  EXPECT_EQ(told(with("read_profile: wds", "layout: files")),
            "job.yaml:5:40: dataset.read_profile: 'wds' reads shards, and layout is files (allowed: whole | pil | npz "
            "| ranged)");
  EXPECT_EQ(told(kGood, {"dataset.layout=tokens", "dataset.read_profile=pil"}),
            "--set: dataset.read_profile: 'pil' reads files, and layout is tokens (allowed: mmap | ranged)");
  EXPECT_EQ(told(kGood, {"dataset.read_profile=webdataset"}),
            "--set: dataset.read_profile: 'webdataset' is not allowed (allowed: whole | pil | wds | mds | mmap | "
            "row_group | npz | ranged)");
  EXPECT_EQ(told(kGood, {"dataset.layout=shards", "dataset.read_profile=wds", "loader.kind=pytorch"}),
            "--set: loader.kind: 'pytorch' asks for samples by index, and wds reads a tar from front to end: "
            "pytorch_iterable does so");
  EXPECT_NE(
      told(kGood, {"loader.kind=pytorch", "loader.shuffle_buffer=100"}).find("loader.shuffle_buffer: a loader of"),
      std::string::npos);
  EXPECT_EQ(told(kGood, {"loader.kind=pytorch_iterable", "loader.shuffle_buffer=100"}), "");
  EXPECT_EQ(told(kGood, {"loader.kind=pytorch_iterable", "loader.shuffle_buffer=100", "loader.shuffle_initial=100"}),
            "");
  EXPECT_EQ(told(kGood, {"loader.kind=pytorch_iterable", "loader.shuffle_buffer=100", "loader.shuffle_initial=101"}),
            "--set: loader.shuffle_initial: must be at most loader.shuffle_buffer = 100");
  EXPECT_EQ(told(kGood, {"loader.kind=pytorch_iterable", "loader.shuffle_initial=1"}),
            "--set: loader.shuffle_initial: there is no buffer to fill: give loader.shuffle_buffer");
  EXPECT_EQ(told(kGood, {"dataset.path="}), "--set: dataset.path: has no value: text");
}

TEST(Job, OverridesReplaceAndAreLocated) {
  EXPECT_EQ(good(kGood, {"step.time=0.1s", "cluster.nodes=4"}).cluster.gpus(), 32);
  EXPECT_EQ(good(kGood, {"cache.available=1GB"}).cache->available, 1e9);
  EXPECT_EQ(told(kGood, {"step.time=5"}), "--set: step.time: '5' needs a unit: ns, us, ms, s, min, h, d");
  EXPECT_EQ(told(kGood, {"step.tiem=5s"}),
            "--set: step: unknown key 'tiem'; did you mean 'time'? (keys: time, micro_batch, "
            "accumulation, mfu, utilization, target_utilization)");
}

TEST(Job, ReadsSpreads) {
  const Job job = good(kGood, {"dataset.sample_size=130kB \u00b1 10kB", "step.time=200ms +- 5%", "safety=1.2 +/- 0"});
  EXPECT_EQ(job.dataset.sample_size, 130000);
  EXPECT_EQ(job.spreads.at("dataset.sample_size"), 10000);
  EXPECT_DOUBLE_EQ(job.spreads.at("step.time"), 0.01);
  EXPECT_EQ(job.spreads.size(), 2u);
  EXPECT_NE(told(kGood, {"cluster.nodes=2 +- 1"}).find("a whole number takes no spread"), std::string::npos);
  EXPECT_NE(told(kGood, {"step.time=1s +- 1kB"}).find("the spread 'kB' is a unit of size"), std::string::npos);
  EXPECT_NE(told(kGood, {"step.time=1s +- -1s"}).find("must not be below 0"), std::string::npos);
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
}  // namespace headrace::requirements::job_test
