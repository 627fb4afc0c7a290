// The table of keys. A new key is one entry here and one member of Job.
#include <type_traits>

#include "harness/job/job_keys.h"

namespace headrace::job {
namespace {

/// Puts a number, a yes or no, or the index of a word into job.section.member, of any type.
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

// Bounds keep every product of values finite.
constexpr double kMost = 1e15;
constexpr Range kWhole{.min = 1, .max = kMost, .integer = true};
constexpr Range kPositive{.min = 0, .max = kMost, .min_excluded = true};
constexpr Range kAny{.min = 0, .max = kMost};
constexpr Range kShare{.min = 0, .max = 1};
constexpr Range kPositiveShare{.min = 0, .max = 1, .min_excluded = true};

using Setter = void (*)(Job&, double);

JobKey optional(std::string_view path, Dimension dimension, Range range, Setter set, std::string_view help) {
  return {.path = path, .dimension = dimension, .range = range, .help = help, .set = set};
}
JobKey required(std::string_view path, Dimension dimension, Range range, Setter set, std::string_view help) {
  JobKey key = optional(path, dimension, range, set, help);
  key.required = true;
  return key;
}
JobKey defaulted(std::string_view path, Dimension dimension, Range range, std::string_view fallback, Setter set,
                 std::string_view help) {
  JobKey key = optional(path, dimension, range, set, help);
  key.fallback = fallback;
  return key;
}
/// One of a few words; required when there is no default.
JobKey word(std::string_view path, std::vector<std::string> choices, std::string_view fallback, Setter set,
            std::string_view help) {
  return {.path = path,
          .dimension = Dimension::text,
          .fallback = fallback,
          .help = help,
          .required = fallback.empty(),
          .choices = std::move(choices),
          .set = set};
}
/// One of a few words; not given it follows from others, as `otherwise` reports.
JobKey derived_word(std::string_view path, std::vector<std::string> choices, std::string_view otherwise, Setter set,
                    std::string_view help) {
  JobKey key = word(path, std::move(choices), {}, set, help);
  key.required = false;
  key.shown_fallback = otherwise;
  return key;
}
/// With a default that is no short number.
JobKey shown_as(std::string_view fallback, JobKey key) {
  key.shown_fallback = fallback;
  return key;
}
JobKey text(std::string_view path, bool required, void (*set)(Job&, std::string), std::string_view help) {
  return {.path = path, .dimension = Dimension::text, .help = help, .required = required, .set_text = set};
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
  using LC = Job::LocalCache;
  using O = Job::ObjectStore;
  using F = Job::Fabric;
  return {
      required(
          "schema", D::count, {.min = 1, .max = 1, .integer = true}, [](Job&, double) {}, "version of the job file"),
      text(
          "job", true, [](Job& j, std::string t) { j.name = std::move(t); }, "a name, used in reports"),
      text(
          "description", false, [](Job& j, std::string t) { j.description = std::move(t); }, "one line for people"),
      defaulted(
          "safety", D::ratio, {.min = 1, .max = 100}, "1.2", [](Job& j, double v) { j.safety = v; },
          "need = safety * required"),

      required("cluster.nodes", D::count, kWhole, put<&Job::cluster, &C::nodes>, "nodes of the job"),
      required("cluster.gpus_per_node", D::count, kWhole, put<&Job::cluster, &C::gpus_per_node>, "GPUs of one node"),
      optional("cluster.nics_per_node", D::count, kWhole, put<&Job::cluster, &C::nics_per_node>,
               "NICs (rails) of one node"),
      optional("cluster.nic_rate", D::bytes_per_second, kPositive, put<&Job::cluster, &C::nic_rate>,
               "line rate of one NIC"),
      optional("cluster.gpu_price", D::usd_per_hour, kAny, put<&Job::cluster, &C::gpu_price>, "USD per GPU-hour"),
      optional("cluster.mtbf", D::seconds, kPositive, put<&Job::cluster, &C::mtbf>,
               "mean time between failures of the whole job"),
      optional("cluster.gpu_flops", D::flop_per_second, kPositive, put<&Job::cluster, &C::gpu_flops>,
               "peak compute rate of one GPU, for a step time that was not measured"),
      optional("cluster.reference_mtbf", D::seconds, kPositive, put<&Job::cluster, &C::reference_mtbf>,
               "mean time between failures seen on another number of GPUs"),
      optional("cluster.reference_gpus", D::count, kWhole, put<&Job::cluster, &C::reference_gpus>,
               "that number of GPUs"),
      optional("cluster.restart", D::seconds, kAny, put<&Job::cluster, &C::restart>,
               "time from a failure to the start of the restore"),
      optional("cluster.run_time", D::seconds, kPositive, put<&Job::cluster, &C::run_time>,
               "stall-free time of the whole job"),

      optional("step.time", D::seconds, kPositive, put<&Job::step, &S::time>,
               "stall-free time of one optimizer step; from gpu_flops and mfu when it is not given"),
      required("step.micro_batch", D::count, kWhole, put<&Job::step, &S::micro_batch>,
               "samples per replica and micro-batch"),
      defaulted("step.accumulation", D::count, kWhole, "1", put<&Job::step, &S::accumulation>,
                "micro-batches per step"),
      optional("step.mfu", D::ratio, kPositiveShare, put<&Job::step, &S::mfu>,
               "share of the peak compute rate that training reaches, for a step time that was not "
               "measured"),
      optional("step.utilization", D::ratio, kPositiveShare, put<&Job::step, &S::utilization>,
               "accelerator utilization seen today"),
      defaulted("step.target_utilization", D::ratio, kPositiveShare, "0.9", put<&Job::step, &S::target_utilization>,
                "accelerator utilization to reach"),

      word("dataset.layout", {"files", "shards", "tokens"}, "", put<&Job::dataset, &Set::layout>,
           "files (one or a few samples each), shards (tar, TFRecord, MDS) or tokens (memory-mapped "
           "ids)"),
      derived_word("dataset.read_profile", {"whole", "pil", "wds", "mds", "mmap", "row_group", "npz", "ranged"},
                   "as layout has it: whole, wds, mmap", put<&Job::dataset, &Set::read_profile>,
                   "the calls that read a sample"),
      text(
          "dataset.path", false, [](Job& j, std::string t) { j.dataset.path = std::move(t); },
          "folder or file of a data set that is there already, or s3://bucket/prefix; it is only read"),
      optional("dataset.samples", D::count, kWhole, put<&Job::dataset, &Set::samples>, "samples of the data set"),
      required("dataset.sample_size", D::bytes, kPositive, put<&Job::dataset, &Set::sample_size>,
               "mean bytes of one sample as its files hold it, without what a shard's format adds"),
      optional("dataset.format_overhead", D::bytes, kAny, put<&Job::dataset, &Set::format_overhead>,
               "bytes that the shards' format adds to each sample: headers and padding; --data counts it"),
      optional("dataset.decoded_size", D::bytes, kPositive, put<&Job::dataset, &Set::decoded_size>,
               "bytes of one sample as it goes to the GPU"),
      defaulted("dataset.samples_per_file", D::ratio, kPositive, "1", put<&Job::dataset, &Set::samples_per_file>,
                "samples in one file; below 1 when a sample is several files"),
      defaulted("dataset.request_size", D::bytes, kPositive, "1MiB", put<&Job::dataset, &Set::request_size>,
                "bytes per read request that reaches the storage"),
      defaulted("dataset.read_amplification", D::ratio, {.min = 1, .max = kMost}, "1",
                put<&Job::dataset, &Set::read_amplification>, "bytes read / bytes used"),
      defaulted("dataset.metadata_ops_per_open", D::ratio, kAny, "4", put<&Job::dataset, &Set::metadata_ops_per_open>,
                "metadata operations per open, read, close"),
      optional("dataset.cpu_time_per_sample", D::seconds, kPositive, put<&Job::dataset, &Set::cpu_time_per_sample>,
               "core-seconds to decode and augment one sample"),
      derived_word("dataset.codec", {"none", "jpeg", "png", "zstd", "npz"}, "none", put<&Job::dataset, &Set::codec>,
                   "format of the samples, which rehearse decodes where cpu_time_per_sample is not known"),
      shown_as("224",
               optional("dataset.image_size", D::count, {.min = 0, .max = 8192, .integer = true},
                        put<&Job::dataset, &Set::image_size>,
                        "side of the square that a decoded image is resized to [pixels]; 0: it is only decoded")),

      word("loader.kind", {"pytorch", "pytorch_iterable", "tfdata", "in_flight"}, "pytorch",
           put<&Job::loader, &L::kind>, "what the loader is"),
      optional("loader.workers_per_gpu", D::count, {.min = 0, .max = kMost, .integer = true},
               put<&Job::loader, &L::workers_per_gpu>,
               "loader processes of one GPU; 0: the training process reads itself, as num_workers=0 has it"),
      defaulted("loader.prefetch_factor", D::count, kWhole, "2", put<&Job::loader, &L::prefetch_factor>,
                "batches that each worker prepares ahead"),
      optional("loader.cpu_time_per_batch", D::seconds, kPositive, put<&Job::loader, &L::cpu_time_per_batch>,
               "processor time of a GPU's own process for each batch: taking it from the workers, handing it on"),
      defaulted("loader.utilization", D::ratio, kPositiveShare, "0.8", put<&Job::loader, &L::utilization>,
                "utilization of a core to plan for"),
      optional("loader.shuffle_buffer", D::count, kWhole, put<&Job::loader, &L::shuffle_buffer>,
               "samples in the shuffle buffer of one worker"),
      shown_as("100 of wds, else all of the buffer",
               optional("loader.shuffle_initial", D::count, kWhole, put<&Job::loader, &L::shuffle_initial>,
                        "samples in it before the first one is handed over")),
      word("loader.on_error", {"fail", "skip"}, "fail", put<&Job::loader, &L::skips_bad_samples>,
           "what the loader does with a sample that it cannot use: it ends, or passes it over"),

      optional("model.parameters", D::count, kPositive, put<&Job::model, &M::parameters>, "parameters of the model"),
      defaulted("model.weight_bytes", D::ratio, kPositive, "2", put<&Job::model, &M::weight_bytes>,
                "bytes of one weight as it is sent"),
      defaulted("model.gradient_bytes", D::ratio, kPositive, "2", put<&Job::model, &M::gradient_bytes>,
                "bytes of one gradient as it is sent"),
      defaulted("model.activation_bytes", D::ratio, kPositive, "2", put<&Job::model, &M::activation_bytes>,
                "bytes of one activation as it is sent"),
      optional("model.active_parameters", D::count, kPositive, put<&Job::model, &M::active_parameters>,
               "parameters that one token uses, for a mixture of experts"),
      optional("model.layers", D::count, kWhole, put<&Job::model, &M::layers>, "transformer layers"),
      optional("model.hidden", D::count, kWhole, put<&Job::model, &M::hidden>, "hidden size"),
      optional("model.ffn", D::count, kWhole, put<&Job::model, &M::ffn>, "feed-forward size (gated)"),
      optional("model.heads", D::count, kWhole, put<&Job::model, &M::heads>, "attention heads"),
      optional("model.kv_heads", D::count, kWhole, put<&Job::model, &M::kv_heads>, "key-value heads"),
      optional("model.vocabulary", D::count, kWhole, put<&Job::model, &M::vocabulary>, "token ids"),
      optional("model.sequence_length", D::count, kWhole, put<&Job::model, &M::sequence_length>,
               "tokens of one sample"),
      optional("model.experts", D::count, kWhole, put<&Job::model, &M::experts>, "experts of one layer"),
      optional("model.top_k", D::count, kWhole, put<&Job::model, &M::top_k>, "experts that one token uses"),

      defaulted("parallelism.tensor", D::count, kWhole, "1", put<&Job::parallelism, &P::tensor>,
                "tensor-parallel degree"),
      defaulted("parallelism.pipeline", D::count, kWhole, "1", put<&Job::parallelism, &P::pipeline>,
                "pipeline-parallel degree"),
      defaulted("parallelism.context", D::count, kWhole, "1", put<&Job::parallelism, &P::context>,
                "context-parallel degree"),
      defaulted("parallelism.expert", D::count, kWhole, "1", put<&Job::parallelism, &P::expert>,
                "expert-parallel degree"),
      word("parallelism.sharding", {"none", "zero1", "zero2", "zero3"}, "none", put<&Job::parallelism, &P::sharding>,
           "which state is spread over the replicas"),
      defaulted("parallelism.bucket", D::bytes, kPositive, "25MiB", put<&Job::parallelism, &P::bucket>,
                "bytes of gradients that travel as one message"),
      shown_as("2/3", defaulted("parallelism.window", D::ratio, kShare, "0.6666666666666666",
                                put<&Job::parallelism, &P::window>,
                                "share of the step during which gradients may travel (the backward pass)")),
      defaulted("parallelism.overlap", D::ratio, kShare, "0.9", put<&Job::parallelism, &P::overlap>,
                "share of that window that really hides communication"),
      defaulted("parallelism.exposed", D::ratio, kAny, "0", put<&Job::parallelism, &P::exposed>,
                "share of the step that communication may add"),
      defaulted("parallelism.virtual_stages", D::count, kWhole, "1", put<&Job::parallelism, &P::virtual_stages>,
                "chunks of the model on each pipeline stage"),
      word("parallelism.context_method", {"ring", "ulysses"}, "ring", put<&Job::parallelism, &P::context_method>,
           "how context-parallel ranks exchange"),
      optional("parallelism.tensor_time", D::ratio, kPositiveShare, put<&Job::parallelism, &P::tensor_time>,
               "share of the step that tensor-parallel communication may take"),
      optional("parallelism.expert_time", D::ratio, kPositiveShare, put<&Job::parallelism, &P::expert_time>,
               "share of the step that expert-parallel communication may take"),
      optional("parallelism.expert_nodes", D::count, kWhole, put<&Job::parallelism, &P::expert_nodes>,
               "most nodes that one token is sent to"),

      required("checkpoint.interval", D::seconds, kPositive, put<&Job::checkpoint, &K::interval>,
               "compute time between saves"),
      word("checkpoint.mode", {"sync", "async"}, "sync", put<&Job::checkpoint, &K::async>,
           "whether training waits for the write"),
      required("checkpoint.stall", D::seconds, kPositive, put<&Job::checkpoint, &K::stall>,
               "longest time that a save may block training (async: the device-to-host copy)"),
      defaulted("checkpoint.bytes_per_parameter", D::ratio, kPositive, "14",
                put<&Job::checkpoint, &K::bytes_per_parameter>, "saved bytes per parameter"),
      defaulted("checkpoint.extra", D::bytes, kAny, "0B", put<&Job::checkpoint, &K::extra>,
                "saved bytes other than parameters"),
      defaulted("checkpoint.duty", D::ratio, kPositiveShare, "1", put<&Job::checkpoint, &K::duty>,
                "async: share of the interval that the background write may use"),
      defaulted("checkpoint.buffers", D::count, kWhole, "1", put<&Job::checkpoint, &K::buffers>,
                "async: copies in host memory"),
      optional("checkpoint.restore", D::seconds, kPositive, put<&Job::checkpoint, &K::restore>,
               "longest time to read a checkpoint back"),
      defaulted("checkpoint.weight_readers", D::count, kWhole, "1", put<&Job::checkpoint, &K::weight_readers>,
                "replicas that each read the weights at restore"),
      defaulted("checkpoint.keep", D::count, kWhole, "1", put<&Job::checkpoint, &K::keep>, "checkpoints kept"),
      defaulted("checkpoint.overhead", D::seconds, kAny, "0s", put<&Job::checkpoint, &K::overhead>,
                "sync: part of the stall that writes nothing (serialisation, barrier, fsync)"),
      defaulted("checkpoint.restore_overhead", D::seconds, kAny, "0s", put<&Job::checkpoint, &K::restore_overhead>,
                "part of the restore that reads nothing"),
      optional("checkpoint.waste", D::ratio, kPositiveShare, put<&Job::checkpoint, &K::waste>,
               "share of the time that saves and failures may cost"),

      required("cache.available", D::bytes, kPositive, put<&Job::cache, &Job::Cache::available>,
               "memory of one node that the page cache may take"),
      defaulted("cache.reserve", D::bytes, kAny, "0B", put<&Job::cache, &Job::Cache::reserve>,
                "what the job itself will still allocate of it"),

      required("local_cache.capacity", D::bytes, kPositive, put<&Job::local_cache, &LC::capacity>,
               "bytes of the cache on one node"),
      word("local_cache.policy", {"lru", "pinned", "cooperative"}, "pinned", put<&Job::local_cache, &LC::policy>,
           "lru evicts, pinned keeps what it once held, cooperative also serves other nodes"),
      text(
          "local_cache.path", false, [](Job& j, std::string t) { j.local_cache->path = std::move(t); },
          "folder of headrace's own on its device, which rehearse fills with copies and empties"),
      optional("local_cache.write_rate", D::bytes_per_second, kPositive, put<&Job::local_cache, &LC::write_rate>,
               "rate at which one node's cache can be filled"),
      optional("local_cache.remote_rate", D::bytes_per_second, kPositive, put<&Job::local_cache, &LC::remote_rate>,
               "rate at which the storage behind it delivers to one node"),

      // AWS gives 100 to 200 ms, and 85 to 90 MB/s, in its performance guidelines for S3.
      defaulted("object_store.first_byte_latency", D::seconds, kAny, "100ms",
                put<&Job::object_store, &O::first_byte_latency>, "time to the first byte of a request"),
      defaulted("object_store.stream_rate", D::bytes_per_second, kPositive, "87.5MB/s",
                put<&Job::object_store, &O::stream_rate>, "rate of one stream after its first byte"),
      optional("object_store.request_size", D::bytes, kPositive, put<&Job::object_store, &O::request_size>,
               "bytes of one request; not given: sample_size for files, else dataset.request_size"),
      defaulted("object_store.prefix_limit", D::per_second, kPositive, "5500/s",
                put<&Job::object_store, &O::prefix_limit>, "requests that one key prefix takes"),
      defaulted("object_store.connection_rate", D::bytes_per_second, kPositive, "87.5MB/s",
                put<&Job::object_store, &O::connection_rate>, "rate of one connection by the vendor's rule"),
      defaulted("object_store.shards_per_worker", D::count, kWhole, "4", put<&Job::object_store, &O::shards_per_worker>,
                "fewest shards for each loader worker"),
      optional("object_store.request_price", D::usd, kAny, put<&Job::object_store, &O::request_price>,
               "USD per 1000 requests"),
      optional("object_store.capacity_price", D::usd, kAny, put<&Job::object_store, &O::capacity_price>,
               "USD per GB and month"),

      defaulted("fabric.oversubscription", D::ratio, {.min = 1, .max = kMost}, "1",
                put<&Job::fabric, &F::oversubscription>, "ports down to ports up of a leaf switch"),
      defaulted("fabric.crossing", D::ratio, kShare, "0", put<&Job::fabric, &F::crossing>,
                "share of the traffic that crosses the spine"),
      defaulted("fabric.nic_efficiency", D::ratio, kPositiveShare, "0.96", put<&Job::fabric, &F::nic_efficiency>,
                "share of the line rate that large messages reach"),
      optional("fabric.intra_busbw", D::bytes_per_second, kPositive, put<&Job::fabric, &F::intra_busbw>,
               "bus bandwidth of the GPUs of one node among themselves"),
      derived_word(
          "fabric.gpu_generation", {"ampere", "hopper", "blackwell"}, "not known", [](Job&, double) {},
          "generation of NVLink: gives the time of an all-reduce"),
      optional("fabric.switch_ports", D::count, {.min = 2, .max = kMost, .integer = true},
               put<&Job::fabric, &F::switch_ports>, "ports of one switch"),
      optional("fabric.tiers", D::count, {.min = 1, .max = 10, .integer = true}, put<&Job::fabric, &F::tiers>,
               "tiers of switches"),
  };
}

}  // namespace

std::span<const JobKey> job_keys() {
  static const std::vector<JobKey> keys = make_keys();
  return keys;
}

}  // namespace headrace::job
