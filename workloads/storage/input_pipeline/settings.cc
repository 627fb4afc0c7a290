#include "workloads/storage/input_pipeline/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/backends/loader.h"
#include "harness/base/units.h"

namespace headrace::input_pipeline {
namespace {

constexpr std::uint64_t kWebDatasetInitial = 100;  // of its shuffle(); others fill their buffer

Layout layout_of(Params& p) {
  const std::string word = p.choice("layout", "files", {"files", "shards", "indexed"},
                                    "files: one or a few samples in each; shards: read from front to back, each "
                                    "worker its own; indexed: samples anywhere in large files");
  return word == "files" ? Layout::files : word == "shards" ? Layout::shards : Layout::indexed;
}

ReadProfile profile_of(Params& p, Layout layout) {
  const std::string word =
      p.choice("read_profile", layout == Layout::files ? "whole" : "ranged",
               {"whole", "pil", "mmap", "npz", "ranged", "wds", "mds", "row_group"},
               "calls by which a sample is read: as small_file_read has them for files, shard_stream for shards and "
               "random_read for indexed");
  const std::vector<std::string> known =
      layout == Layout::files    ? std::vector<std::string>{"whole", "pil", "mmap", "npz"}
      : layout == Layout::shards ? std::vector<std::string>{"ranged", "wds"}
                                 : std::vector<std::string>{"ranged", "mmap", "mds", "row_group"};
  if (std::find(known.begin(), known.end(), word) == known.end())
    p.conflict("read_profile", "no such data of this layout is read by " + word);
  return read_profile(word);
}

}  // namespace

Settings::Settings(Params& p)
    : loader(Loader::declare_with_consumer(p)),
      layout(layout_of(p)),
      profile(profile_of(p, layout)),
      from(p.choice("source", "storage", {"storage", "memory", "none"},
                    "where samples come from. memory: copied out of memory, as fast as that goes; none: they are "
                    "there at once")),
      io(StorageParams::declare(
          p, {.workers = 4,
              .block_size = profile == ReadProfile::wds ? kTarRecord : 1_MiB,
              .direct_allowed = false,
              .maps = true,
              .queues = loader.kind() == Loader::Kind::in_flight,
              .workers_help = "reading and decoding threads, of all GPUs together",
              .engine = layout == Layout::indexed && profile == ReadProfile::mmap ? mapping_engine() : loader.engine(),
              .objects = true})),
      spec(DataSetSpec::declare(p, {.files = layout == Layout::files ? 10'000u : 4u,
                                    .file_size = layout == Layout::files ? 128_KiB : 256_MiB,
                                    .samples = true,
                                    .objects = true})),
      samples_per_file(p.ratio("samples_per_file", 1, {.min = 1e-9}, "layout files: samples that one file holds")),
      sample_size(p.bytes("sample_size", 128_KiB, {.min = 1},
                          "stored bytes of one sample; layout files: only of source memory")),
      gpus(static_cast<unsigned>(p.count("gpus", 1, {.min = 1, .max = 1024}, "emulated GPUs, each with a loader"))),
      batches_per_step(static_cast<unsigned>(
          p.count("batches_per_step", 1, {.min = 1, .max = 65536}, "batches that a GPU computes with in one step"))),
      step_time_s(p.seconds("step_time", 0.1, {.min = 0, .max = 3600},
                            "compute time of one step of batches_per_step batches; 0s: batches are taken as fast as "
                            "they come, without a utilization")),
      stalled_after_s(
          p.seconds("stalled_after", 1, {.min = 0.001, .max = 3600},
                    "a sample that takes longer to read is reported as a storage stall, with its file and offset")),
      settled(p.flag("settled", false,
                     "leave all steps out of accelerator_utilization until the pipeline is filled and storage has read "
                     "ahead of each worker, and not the first step alone: what a long epoch gives")),
      epoch_steps(p.count("epoch_steps", 0, {.min = 0, .max = 1e12},
                          "steps of the job's epoch, for wall_clock_utilization; 0 or 1: it is not reported")),
      passes_over_bad(
          p.choice("on_error", "fail", {"fail", "skip"},
                   "with a path: how broken samples of shards or images are treated. fail: the repetition ends with an "
                   "error that names the first. skip: they are counted, and named in the notes") == "skip"),
      cpu_time_s(p.seconds("cpu_time_per_sample", 0, {.min = 0, .max = 3600},
                           "processor time that a worker spends on decoding one sample")),
      taking_s(p.seconds("cpu_time_per_batch", 0, {.min = 0, .max = 3600},
                         "processor time that each GPU's own process spends on taking one batch from its workers and "
                         "handing it to the GPU; it does so one batch ahead")),
      gpu_copy(p.bytes("gpu_copy", 0, {.min = 0, .max = static_cast<double>(4_GiB)},
                       "decoded bytes of a sample that are copied to a GPU of this node before it computes; 0B, or no "
                       "GPU: none, which is reported")),
      decoding(p),
      groups(p),
      shuffling(Shuffling::declare(p, profile == ReadProfile::wds ? kWebDatasetInitial : UINT64_MAX)),
      save_every(p.count("checkpoint_every", 0, {.min = 0, .max = 1e9},
                         "steps from one checkpoint to the next, the first after half as many; 0: none is saved")),
      saves_left_out(
          p.flag("checkpoint_left_out", false,
                 "none is saved, and the result is utilization_without_saves, which shows the cost of checkpoints")),
      save(checkpoint::SaveParams::declare(p, "checkpoint_")) {
  check_params(p);
}

std::optional<Skip> Settings::check(Node& node) const {
  if (auto skip = decoding.check(node)) return skip;
  if (auto skip = groups.check(node)) return skip;
  if (saves())
    if (auto skip = save.check(node)) return skip;
  if (auto skip = check_files_held(node)) return skip;
  if (shuffling.active())
    if (auto skip = shuffled().check(node, io.workers, operation_bytes())) return skip;
  if (from != "storage") return std::nullopt;
  return io.check(node);
}
Footprint Settings::footprint() const {
  Footprint all;
  if (from == "storage") all = io.footprint(spec, spec.bytes());
  if (from == "memory") all.memory_bytes = kMemory + io.workers * operation_bytes();
  if (decoding.active()) all.memory_bytes += SampleDecoding::kHeld;
  if (shuffling.active()) all.memory_bytes += io.workers * shuffled().samples * operation_bytes();
  if (!saves()) return all;
  all.written_bytes += 2 * save.total_bytes();  // the old one stays until the new one is durable
  all.memory_bytes += save.memory_bytes();
  all.page_cache_bytes += save.direct || save.objects ? 0 : save.total_bytes();
  return all;
}

unsigned Settings::ahead() const {
  if (loader.kind() != Loader::Kind::tfdata) return loader.prefetch_factor();
  const std::uint64_t each = io.workers / gpus, all = pieces() * loader.prefetch_factor();
  return static_cast<unsigned>((all + each - 1) / each);
}

double Settings::samples_per_operation() const {
  if (layout == Layout::files) return samples_per_file;
  if (profile != ReadProfile::row_group) return 1;
  if (groups.active()) return std::max(1.0, groups.rows());
  return std::max(1.0, static_cast<double>(io.block_size) / static_cast<double>(sample_size));
}

std::uint64_t Settings::operation_bytes() const {
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(sample_size) * samples_per_operation()));
}

std::uint64_t Settings::compute_ns() const {
  return static_cast<std::uint64_t>(std::llround(1e9 * step_time_s / batches_per_step * samples_per_batch() /
                                                 static_cast<double>(loader.batch_size())));
}

void Settings::check_params(Params& p) const {
  if (flies() && !io.traits().queues())
    p.conflict("engine", "a loader that keeps requests in flight reads with " + queueing_engine() + "; engine " +
                             io.engine + " waits for each");
  if (flies() && profile != ReadProfile::whole && profile != ReadProfile::ranged)
    p.conflict("read_profile", "who reads like that waits for each read: a loader with requests in flight does not");
  if (groups.active()) check_groups(p);
  const bool parses = groups.active() || layout == Layout::shards || (layout == Layout::files && decoding.active());
  if (passes_over_bad && (!parses || spec.path.empty()))
    p.conflict("on_error", "skip goes with a path, and layout shards or a codec: nothing else is parsed or decoded");
  if (decoding.active() && cpu_time_s > 0)
    p.conflict("cpu_time_per_sample", "it replaces decoding, and codec " + decoding.codec() + " decodes");
  if (spec.holds_samples() && decoding.active() && spec.content != decoding.codec())
    p.conflict("content", "workers decode another codec: " + decoding.codec());
  if (spec.holds_samples() && layout != Layout::files && (layout == Layout::indexed || spec.content_sample == 0))
    p.conflict("content",
               "files that hold a sample each are read by layout files; tar shards (content_sample) by layout "
               "shards, too");
  if (spec.holds_samples() && layout == Layout::files && (spec.content_sample > 0) != (samples_per_file > 1))
    p.conflict("content_sample", "goes with samples_per_file of more than 1");
  if (decoding.active() && !spec.path.empty() && layout == Layout::indexed)
    p.conflict("codec", "samples of one's own are decoded out of files and of shards that are read from front to back");
  if (decoding.active() && !spec.path.empty() && samples_per_file < 1)
    p.conflict("samples_per_file", "a sample that lies in several files is not decoded: 1 or more");
  check_shuffling(p);
  if (io.traits().objects) check_objects(p);
  if (saves_left_out && save_every == 0) p.conflict("checkpoint_left_out", "there is none: give checkpoint_every");
  if (save_every == 1) p.conflict("checkpoint_every", "0, or at least 2: the first step counts for nothing");
  if (io.workers % gpus != 0) p.conflict("workers", "each GPU has as many: a multiple of gpus");
  if (layout == Layout::shards && loader.kind() == Loader::Kind::pytorch)
    p.conflict("loader", "workers have shards of their own: pytorch_iterable, tfdata");
  if (layout == Layout::files && samples_per_file > static_cast<double>(loader.batch_size()))
    p.conflict("samples_per_file", "one file has more samples than a batch: dataset.layout shards reads such files");
  const bool mapped = layout == Layout::indexed && profile == ReadProfile::mmap;
  if (io.traits().maps != mapped) p.conflict("engine", "mmap goes with layout indexed and read_profile mmap");
  if (profile == ReadProfile::wds && io.block_size != kTarRecord)
    p.conflict("block_size", "wds reads 10 KiB at a time");
}

/// Each worker holds a file that it decodes in one piece, and what it is made of.
std::optional<Skip> Settings::check_files_held(Node& node) const {
  if (!decodes_what_is_read() || !spec.path.empty() || layout != Layout::files) return std::nullopt;
  const double each = static_cast<double>(spec.file_size + 3 * spec.file_size_spread);
  const double all = 2 * each * io.workers, memory = static_cast<double>(node.memory_available());
  if (all <= memory / 10 * 9) return std::nullopt;
  return Skip{fmt::format("{} workers that each decode a file of up to {} take {} of memory, {} is available",
                          io.workers, format_quantity(each, Dimension::bytes, true),
                          format_quantity(all, Dimension::bytes, true),
                          format_quantity(memory, Dimension::bytes, true))};
}

void Settings::check_groups(Params& p) const {
  if (profile != ReadProfile::row_group)
    p.conflict("table", "row groups are read by layout indexed with read_profile row_group");
  else if (spec.path.empty())
    p.conflict("table", "goes with a path: generated files have no tables in them");
  if (from == "none") p.conflict("table", "nothing is read: source storage or memory");
  if (flies()) p.conflict("table", "Arrow's calls wait for each row group: another loader than in_flight");
  if (cpu_time_s > 0 && groups.decodes())
    p.conflict("cpu_time_per_sample", "it replaces decoding, and arrays are made of the row groups");
  if (decoding.active()) p.conflict("codec", "of tables arrays are made, and nothing else is decoded");
  if (shuffling.active())
    p.conflict("shuffle_buffer", "row groups of a table are not held: table raw holds their bytes");
}

void Settings::check_objects(Params& p) const {
  if (profile != ReadProfile::whole && profile != ReadProfile::ranged)
    p.conflict("read_profile", "is of files: objects are read whole, or ranges of them");
  if (!flies() && io.queue_depth > 1)
    p.conflict("queue_depth", "a worker of this loader asks and waits: loader in_flight keeps more in flight");
  if (groups.active()) p.conflict("table", "row groups are read out of files");
}

void Settings::check_shuffling(Params& p) const {
  if (!shuffling.active()) return;
  if (layout == Layout::files)
    p.conflict("shuffle_buffer", "files are shuffled by their names, and none is held: layout shards");
  else if (layout == Layout::indexed && profile != ReadProfile::row_group)
    p.conflict("shuffle_buffer", "indexed samples are read in a random order: layout shards, or whole row groups");
  else if (layout == Layout::indexed && flies())
    p.conflict("shuffle_buffer", "row groups of a loader with requests in flight come in any order: layout shards");
  else if (loader.kind() == Loader::Kind::pytorch)
    p.conflict("shuffle_buffer", "pytorch shuffles its indices: loader pytorch_iterable, tfdata or in_flight");
  else if (from == "none")
    p.conflict("shuffle_buffer", "samples that are there at once have no bytes to hold: source storage or memory");
}

}  // namespace headrace::input_pipeline
