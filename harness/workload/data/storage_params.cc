#include "harness/workload/data/storage_params.h"

#include <fmt/format.h>

#include "harness/backends/buffers.h"
#include "harness/backends/loader.h"
#include "harness/machine/node.h"

namespace headrace {

namespace {

using Fit = bool (*)(const StorageTraits&);
constexpr Fit kQueues = [](const StorageTraits& t) { return t.queues(); };
constexpr Fit kQueuesFiles = [](const StorageTraits& t) { return t.queues() && !t.objects; };
constexpr Fit kPolls = [](const StorageTraits& t) { return t.polls; };
constexpr Fit kDirect = [](const StorageTraits& t) { return t.direct; };
constexpr Fit kObjects = [](const StorageTraits& t) { return t.objects; };
constexpr Fit kDirectOrMaps = [](const StorageTraits& t) { return t.direct || t.maps; };

/// "posix or io_uring"
std::string either(Fit fit) { return fmt::format("{}", fmt::join(storage_engines(fit), " or ")); }

}  // namespace

unsigned StorageParams::declare_retries(Params& params, bool objects, const std::string& prefix) {
  constexpr unsigned kRetries = 4;  // with the first, five tries, as AWS's own tools make
  const std::string key = prefix + "retries";
  const auto retries = static_cast<unsigned>(params.count(
      key, objects ? kRetries : 0, {.max = 100},
      either(kObjects) + ": retries of a request that was throttled, failed inside the server or lost its connection, "
                         "after a pause that doubles. 4 by default for objects; 0 shows the store alone"));
  if (!objects && retries > 0) params.conflict(key, "only requests to an object store are sent again");
  return retries;
}

StorageParams StorageParams::declare(Params& params, const Defaults& defaults) {
  constexpr double kMostWorkers = 1024, kMostInFlight = 4096;
  StorageParams p;
  std::vector<std::string> engines = storage_engines(defaults.maps ? kDirectOrMaps : kDirect);
  if (!defaults.queues) std::erase_if(engines, [](const std::string& e) { return storage_traits(e).queues(); });
  std::string usual = defaults.engine.empty() ? engines.front() : defaults.engine;
  const bool objects = defaults.objects && params.leads_to_objects("path");
  if (defaults.objects) engines.push_back(object_engine());
  if (objects) usual = object_engine();
  p.engine = params.choice("engine", usual, engines, list_storage_engines(engines));
  if (p.traits().objects != objects)
    params.conflict("engine", objects ? fmt::format("objects are read by engine {}", either(kObjects))
                                      : fmt::format("engine {} reads objects: path: s3://bucket/prefix", p.engine));
  const StorageTraits& engine = p.traits();
  p.workers = static_cast<unsigned>(
      params.count(defaults.workers_key, defaults.workers, {.min = 1, .max = kMostWorkers}, defaults.workers_help));
  p.queue_depth = static_cast<std::uint32_t>(params.count(
      "queue_depth", engine.queues() && !objects ? defaults.queue_depth : 1, {.min = 1, .max = kMostInFlight},
      "requests in flight per worker; more than 1 only with " + either(kQueues)));
  if (!engine.queues() && p.queue_depth != 1)
    params.conflict("queue_depth", fmt::format("engine {} keeps one request in flight per worker: use {}, or more {}",
                                               p.engine, either(kQueuesFiles), defaults.workers_key));
  p.block_size = params.bytes("block_size", defaults.block_size, {.min = 512, .max = static_cast<double>(1_GiB)},
                              "largest single read");
  if (defaults.objects) p.retries = declare_retries(params, objects);
  p.poll_submission = params.choice("submission", "normal", {"normal", "sqpoll"},
                                    either(kPolls) +
                                        ": by system calls, or taken by a kernel thread that looks for "
                                        "them all the time") == "sqpoll";
  if (p.poll_submission && !engine.polls)
    params.conflict("submission", fmt::format("only engine {} has a kernel thread that submits", either(kPolls)));
  if (!defaults.direct_allowed) return p;
  p.poll_completion = params.choice("completion", "interrupt", {"interrupt", "iopoll"},
                                    either(kPolls) +
                                        ": the device interrupts, or is asked all the time; the latter "
                                        "needs direct: true") == "iopoll";
  if (p.poll_completion && !engine.polls)
    params.conflict("completion", fmt::format("only engine {} asks the device for completions", either(kPolls)));
  p.direct = params.flag("direct", false, "O_DIRECT: bypass the page cache");
  if (p.poll_completion && engine.polls && !p.direct)
    params.conflict("completion", "only direct reads can be polled for: give 'direct: true' too");
  if (p.direct && !engine.direct)
    params.conflict("direct", fmt::format("engine {} reads through the page cache: use {}", p.engine, either(kDirect)));
  if (p.direct && p.block_size % kPage != 0) params.conflict("block_size", "direct reads are multiples of 4KiB");
  return p;
}

std::optional<Skip> StorageParams::check(Node& node) const {
  if (std::string why = node.backends().why_not(engine); !why.empty()) return Skip{std::move(why)};
  return std::nullopt;
}

ReaderOptions StorageParams::reader_options() const {
  ReaderOptions options;
  options.queue_depth = queue_depth;
  options.block_size = block_size;
  options.direct = direct;
  options.poll_submission = poll_submission;
  options.poll_completion = poll_completion;
  options.retries = retries;
  return options;
}

std::vector<CacheState> StorageParams::cache_states() const {
  if (traits().objects) return {CacheState::cold, CacheState::asis};  // nothing is kept on this side
  if (direct) return {CacheState::bypassed, CacheState::asis};
  return {CacheState::cold, CacheState::warm, CacheState::asis};
}

Footprint StorageParams::footprint(const DataSetSpec& data, std::uint64_t read_bytes) const {
  const bool own = data.path.empty();
  return {.written_bytes = own ? data.bytes() : 0,
          .written_files = own ? data.files + data.files / data.files_per_folder + 1 : 0,
          .read_bytes_per_repetition = read_bytes,
          .memory_bytes = buffer_bytes(),
          .page_cache_bytes = direct || traits().objects ? 0 : data.bytes(),
          .data_id = own ? data.id() : ""};
}

}  // namespace headrace
