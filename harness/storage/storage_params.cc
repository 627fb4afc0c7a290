#include "harness/storage/storage_params.h"

#include "harness/backends/buffers.h"
#include "harness/backends/loader.h"

namespace headrace {

StorageParams StorageParams::declare(Params& params, const Defaults& defaults) {
  constexpr double kMostWorkers = 1024, kMostInFlight = 4096;
  StorageParams p;
  p.engine = params.choice("engine", defaults.engine, defaults.engines,
                           "posix: each worker reads and waits; io_uring: each keeps queue_depth requests in flight; "
                           "mmap: each copies out of mapped files");
  p.workers = static_cast<unsigned>(
      params.count(defaults.workers_key, defaults.workers, {.min = 1, .max = kMostWorkers}, defaults.workers_help));
  const bool waits = p.engine != "io_uring";
  p.queue_depth = static_cast<std::uint32_t>(
      params.count("queue_depth", waits ? 1 : defaults.queue_depth, {.min = 1, .max = kMostInFlight},
                   "requests in flight per worker; more than 1 only with io_uring"));
  if (waits && p.queue_depth != 1)
    params.conflict("queue_depth", "engine " + p.engine +
                                       " keeps one request in flight per worker: use io_uring, or more " +
                                       defaults.workers_key);
  p.block_size = params.bytes("block_size", defaults.block_size, {.min = 512, .max = static_cast<double>(1_GiB)},
                              "largest single read");
  p.poll_submission = params.choice("submission", "normal", {"normal", "sqpoll"},
                                    "io_uring: by system calls, or taken by a kernel thread that looks for them all "
                                    "the time") == "sqpoll";
  if (p.poll_submission && waits)
    params.conflict("submission", "only engine io_uring has a kernel thread that submits");
  if (!defaults.direct_allowed) return p;
  p.poll_completion = params.choice("completion", "interrupt", {"interrupt", "iopoll"},
                                    "io_uring: the device interrupts, or is asked all the time; the latter needs "
                                    "direct: true") == "iopoll";
  if (p.poll_completion && waits) params.conflict("completion", "only engine io_uring asks the device for completions");
  p.direct = params.flag("direct", false, "O_DIRECT: bypass the page cache");
  if (p.poll_completion && !waits && !p.direct)
    params.conflict("completion", "only direct reads can be polled for: give 'direct: true' too");
  if (p.direct && p.engine == "mmap")
    params.conflict("direct", "engine mmap reads through the page cache: use posix or io_uring");
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
  return options;
}

std::vector<CacheState> StorageParams::cache_states() const {
  if (direct) return {CacheState::bypassed, CacheState::asis};
  return {CacheState::cold, CacheState::warm, CacheState::asis};
}

Footprint StorageParams::footprint(const DataSetSpec& data, std::uint64_t read_bytes) const {
  const bool own = data.path.empty();
  return {.written_bytes = own ? data.bytes() : 0,
          .read_bytes_per_repetition = read_bytes,
          .memory_bytes = buffer_bytes(),
          .page_cache_bytes = direct ? 0 : data.bytes(),
          .data_id = own ? data.id() : ""};
}

}  // namespace headrace
