// The table of keys. A new key is one line here and one member of Job.
#include "harness/requirements/job_keys.h"

#include <type_traits>

#include "harness/diagnostics.h"

namespace headrace::requirements {
namespace {

/// Puts a number, a yes or no, or the index of a word into job.section.member, whatever its type.
template <auto section, auto member>
void put(Job& job, double value) {
  auto& part = [&]() -> auto& {
    if constexpr (requires { (job.*section).value(); })
      return *(job.*section);
    else
      return job.*section;
  }
  ();
  using Member = std::remove_reference_t<decltype(part.*member)>;
  if constexpr (std::is_enum_v<Member>)
    part.*member = static_cast<Member>(static_cast<int>(value));
  else if constexpr (std::is_same_v<Member, bool>)
    part.*member = value != 0;
  else
    part.*member = value;
}

// Bounds keep every product of values a number that can be held.
constexpr double kMost = 1e15;
constexpr Range kWhole{.min = 1, .max = kMost, .integer = true};
constexpr Range kPositive{.min = 0, .max = kMost, .min_excluded = true};
constexpr Range kAny{.min = 0, .max = kMost};
constexpr Range kShare{.min = 0, .max = 1};
constexpr Range kPositiveShare{.min = 0, .max = 1, .min_excluded = true};

using Setter = void (*)(Job&, double);

JobKey optional(std::string_view path, Dimension dimension, Range range, Setter set,
                std::string_view help) {
  return {.path = path, .dimension = dimension, .range = range, .help = help, .set = set};
}
JobKey required(std::string_view path, Dimension dimension, Range range, Setter set,
                std::string_view help) {
  JobKey key = optional(path, dimension, range, set, help);
  key.required = true;
  return key;
}
JobKey defaulted(std::string_view path, Dimension dimension, Range range, std::string_view fallback,
                 Setter set, std::string_view help) {
  JobKey key = optional(path, dimension, range, set, help);
  key.fallback = fallback;
  return key;
}
/// One of a few words; required when there is no default.
JobKey word(std::string_view path, std::vector<std::string> choices, std::string_view fallback,
            Setter set, std::string_view help) {
  return {.path = path,
          .dimension = Dimension::text,
          .fallback = fallback,
          .help = help,
          .required = fallback.empty(),
          .choices = std::move(choices),
          .set = set};
}
JobKey text(std::string_view path, bool required, void (*set)(Job&, std::string),
            std::string_view help) {
  return {.path = path,
          .dimension = Dimension::text,
          .help = help,
          .required = required,
          .set_text = set};
}

std::vector<JobKey> make_keys() {
  using D = Dimension;
  using C = Job::Cluster;
  using S = Job::Step;
  using Set = Job::Dataset;
  using L = Job::Loader;
  using M = Job::Model;
  using P = Job::Parallelism;
  using K = Job::Checkpoint;
  return {
      required(
          "schema", D::count, {.min = 1, .max = 1, .integer = true}, [](Job&, double) {},
          "version of the job file"),
      text(
          "job", true, [](Job& j, std::string t) { j.name = std::move(t); },
          "a name, used in reports"),
      text(
          "description", false, [](Job& j, std::string t) { j.description = std::move(t); },
          "one line for people"),
      defaulted(
          "safety", D::ratio, {.min = 1, .max = 100}, "1.2", [](Job& j, double v) { j.safety = v; },
          "need = safety * required"),

      required("cluster.nodes", D::count, kWhole, put<&Job::cluster, &C::nodes>,
               "nodes of the job"),
      required("cluster.gpus_per_node", D::count, kWhole, put<&Job::cluster, &C::gpus_per_node>,
               "GPUs of one node"),
      optional("cluster.nics_per_node", D::count, kWhole, put<&Job::cluster, &C::nics_per_node>,
               "NICs (rails) of one node"),
      optional("cluster.nic_rate", D::bytes_per_second, kPositive, put<&Job::cluster, &C::nic_rate>,
               "line rate of one NIC"),
      optional("cluster.gpu_price", D::usd_per_hour, kAny, put<&Job::cluster, &C::gpu_price>,
               "USD per GPU-hour"),
      optional("cluster.mtbf", D::seconds, kPositive, put<&Job::cluster, &C::mtbf>,
               "mean time between failures of the whole job"),

      required("step.time", D::seconds, kPositive, put<&Job::step, &S::time>,
               "stall-free time of one optimizer step"),
      required("step.micro_batch", D::count, kWhole, put<&Job::step, &S::micro_batch>,
               "samples per replica and micro-batch"),
      defaulted("step.accumulation", D::count, kWhole, "1", put<&Job::step, &S::accumulation>,
                "micro-batches per step"),

      word("dataset.layout", {"files", "shards", "tokens"}, "", put<&Job::dataset, &Set::layout>,
           "files (one or a few samples each), shards (tar, TFRecord) or tokens (memory-mapped "
           "ids)"),
      optional("dataset.samples", D::count, kPositive, put<&Job::dataset, &Set::samples>,
               "samples of the data set"),
      required("dataset.sample_size", D::bytes, kPositive, put<&Job::dataset, &Set::sample_size>,
               "mean stored bytes of one sample"),
      optional("dataset.decoded_size", D::bytes, kPositive, put<&Job::dataset, &Set::decoded_size>,
               "bytes of one sample as it goes to the GPU"),
      defaulted("dataset.samples_per_file", D::ratio, kPositive, "1",
                put<&Job::dataset, &Set::samples_per_file>,
                "samples in one file; below 1 when a sample is several files"),
      defaulted("dataset.request_size", D::bytes, kPositive, "1MiB",
                put<&Job::dataset, &Set::request_size>,
                "bytes per read request that reaches the storage"),
      defaulted("dataset.read_amplification", D::ratio, {.min = 1, .max = kMost}, "1",
                put<&Job::dataset, &Set::read_amplification>, "bytes read / bytes used"),
      defaulted("dataset.metadata_ops_per_open", D::ratio, kAny, "4",
                put<&Job::dataset, &Set::metadata_ops_per_open>,
                "metadata operations per open, read, close"),
      optional("dataset.cpu_time_per_sample", D::seconds, kPositive,
               put<&Job::dataset, &Set::cpu_time_per_sample>,
               "core-seconds to decode and augment one sample"),

      optional("loader.workers_per_gpu", D::count, kWhole, put<&Job::loader, &L::workers_per_gpu>,
               "loader processes of one GPU"),
      defaulted("loader.prefetch_factor", D::count, kWhole, "2",
                put<&Job::loader, &L::prefetch_factor>, "batches that each worker prepares ahead"),
      defaulted("loader.utilization", D::ratio, kPositiveShare, "0.8",
                put<&Job::loader, &L::utilization>, "utilization of a core to plan for"),

      optional("model.parameters", D::count, kPositive, put<&Job::model, &M::parameters>,
               "parameters of the model"),
      defaulted("model.weight_bytes", D::ratio, kPositive, "2", put<&Job::model, &M::weight_bytes>,
                "bytes of one weight as it is sent"),
      defaulted("model.gradient_bytes", D::ratio, kPositive, "2",
                put<&Job::model, &M::gradient_bytes>, "bytes of one gradient as it is sent"),

      defaulted("parallelism.tensor", D::count, kWhole, "1", put<&Job::parallelism, &P::tensor>,
                "tensor-parallel degree"),
      defaulted("parallelism.pipeline", D::count, kWhole, "1", put<&Job::parallelism, &P::pipeline>,
                "pipeline-parallel degree"),
      defaulted("parallelism.context", D::count, kWhole, "1", put<&Job::parallelism, &P::context>,
                "context-parallel degree"),
      defaulted("parallelism.expert", D::count, kWhole, "1", put<&Job::parallelism, &P::expert>,
                "expert-parallel degree"),
      word("parallelism.sharding", {"none", "zero1", "zero2", "zero3"}, "none",
           put<&Job::parallelism, &P::sharding>, "which state is spread over the replicas"),
      defaulted("parallelism.window", D::ratio, kShare, "0.6666666666666666",
                put<&Job::parallelism, &P::window>,
                "share of the step during which gradients may travel (the backward pass)"),
      defaulted("parallelism.overlap", D::ratio, kShare, "0.9", put<&Job::parallelism, &P::overlap>,
                "share of that window that really hides communication"),
      defaulted("parallelism.exposed", D::ratio, kAny, "0", put<&Job::parallelism, &P::exposed>,
                "share of the step that communication may add"),

      required("checkpoint.interval", D::seconds, kPositive, put<&Job::checkpoint, &K::interval>,
               "compute time between saves"),
      word("checkpoint.mode", {"sync", "async"}, "sync", put<&Job::checkpoint, &K::async>,
           "whether training waits for the write"),
      required("checkpoint.stall", D::seconds, kPositive, put<&Job::checkpoint, &K::stall>,
               "longest time that a save may block training (async: the device-to-host copy)"),
      defaulted("checkpoint.bytes_per_parameter", D::ratio, kPositive, "14",
                put<&Job::checkpoint, &K::bytes_per_parameter>, "saved bytes per parameter"),
      defaulted("checkpoint.extra", D::bytes, kAny, "0B", put<&Job::checkpoint, &K::extra>,
                "saved bytes beside the parameters"),
      defaulted("checkpoint.duty", D::ratio, kPositiveShare, "1", put<&Job::checkpoint, &K::duty>,
                "async: share of the interval that the background write may use"),
      defaulted("checkpoint.buffers", D::count, kWhole, "1", put<&Job::checkpoint, &K::buffers>,
                "async: copies in host memory"),
      optional("checkpoint.restore", D::seconds, kPositive, put<&Job::checkpoint, &K::restore>,
               "longest time to read a checkpoint back"),
      defaulted("checkpoint.weight_readers", D::count, kWhole, "1",
                put<&Job::checkpoint, &K::weight_readers>,
                "replicas that each read the weights at restore"),
      defaulted("checkpoint.keep", D::count, kWhole, "1", put<&Job::checkpoint, &K::keep>,
                "checkpoints kept"),

      required("cache.available", D::bytes, kPositive, put<&Job::cache, &Job::Cache::available>,
               "memory of one node that the page cache may take"),
      defaulted("cache.reserve", D::bytes, kAny, "0B", put<&Job::cache, &Job::Cache::reserve>,
                "what the job itself will still allocate of it"),
  };
}

}  // namespace

std::string_view JobKey::section() const {
  const std::size_t dot = path.find('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view JobKey::name() const {
  return path.substr(section().empty() ? 0 : section().size() + 1);
}

std::string JobKey::allowed() const {
  if (!choices.empty()) return join(choices, " | ");
  return set_text ? "text" : range.text(dimension);
}

std::span<const JobKey> job_keys() {
  static const std::vector<JobKey> keys = make_keys();
  return keys;
}

const JobKey* find_job_key(std::string_view path) {
  for (const JobKey& key : job_keys())
    if (key.path == path) return &key;
  return nullptr;
}

std::span<const JobSection> job_sections() {
  static const std::vector<JobSection> sections{
      {"cluster", "the machines"},
      {"step", "one optimizer step"},
      {"dataset", "what is read"},
      {"loader", "how it is read"},
      {"model", "what is trained"},
      {"parallelism", "how it is spread"},
      {"checkpoint", "left out: no checkpoint needs", [](Job& j) { j.checkpoint.emplace(); }},
      {"cache", "page cache of one node; left out: no needs that count on it",
       [](Job& j) { j.cache.emplace(); }},
  };
  return sections;
}

}  // namespace headrace::requirements
