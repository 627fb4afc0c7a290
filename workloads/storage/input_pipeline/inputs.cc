#include "workloads/storage/input_pipeline/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "harness/backends/loader.h"
#include "harness/base/units.h"
#include "workloads/storage/input_pipeline/in_flight_sources.h"

namespace headrace::input_pipeline {

void Inputs::prepare(Node& node, const DataProgress& progress) {
  team_index_ = node.team_index();
  team_size_ = static_cast<unsigned>(node.team().size());
  sources_.clear();
  several_.clear();
  shards_ = {};
  why_no_zstd_ = node.backends().why_not("zstd");
  zstd_ = why_no_zstd_.empty() ? &node.backends().codec("zstd") : nullptr;
  set_.decoding.prepare(node, set_.io.workers);
  set_.spec.images = set_.layout == Layout::files && set_.decoding.images() && !set_.several_are_decoded();
  if (set_.from == "memory") memory_.assign(kMemory, 1);
  if (set_.from == "storage") {
    data_ = DataSet::open(set_.spec, node, progress);
    engine_ = &node.backends().storage(set_.io.engine);
    if (set_.layout == Layout::shards) find_shards();
    if (set_.layout == Layout::indexed && !set_.groups.active())
      places_.emplace(data_->files(), set_.io.block_size, set_.io.block_size);
  }
  prepare_decoding(node, progress);
  if (set_.groups.active()) {
    if (!data_)
      data_ = DataSet::open(set_.spec, node, progress);  // with samples in memory, one group of each worker is
    set_.groups.find(node, data_->files(), set_.passes_over_bad);
  }
  shuffles_.clear();
  for (unsigned i = 0; i < set_.io.workers; ++i) {
    sources_.push_back(make_source(i));
    if (!set_.shuffling.active()) continue;
    auto mixed =
        std::make_unique<ShuffleBuffer>(std::move(sources_.back()), set_.shuffled(), set_.operation_bytes(), i);
    shuffles_.push_back(mixed.get());
    sources_.back() = std::move(mixed);
  }
}

void Inputs::before_phase(std::uint64_t seed) {
  if (set_.layout == Layout::files && data_) {
    if (several_.empty())
      order_.fill(data_->files(), seed);
    else
      order_.fill(data_->files(), shards_.files, seed);  // an index.json next to them is none
    order_.split(team_index_, team_size_);
  }
  for (const auto& one : sources_) one->rewind(seed + team_index_);
}

void Inputs::clear() {
  shuffles_.clear();
  sources_.clear();
  set_.decoding.clear();
  several_.clear();
  places_.reset();
  data_.reset();
  engine_ = nullptr;
  memory_ = {};
}

std::optional<std::uint64_t> Inputs::bad_shards() const {
  if (set_.groups.active()) return set_.groups.bad_files();
  if (shards_.format == formats::Format::none) return std::nullopt;
  return shards_.empty.size() + shards_.faults.size();
}

double Inputs::mean_file_bytes() const {
  const FileTable* all = set_.layout == Layout::files ? files() : nullptr;
  return all == nullptr || all->count() == 0 ? 0 : static_cast<double>(all->total_bytes()) / all->count();
}

double Inputs::shuffle_bytes() const {
  double held = 0;
  for (const ShuffleBuffer* one : shuffles_) held += static_cast<double>(one->most_bytes());
  return held;
}

std::string Inputs::still_filling() const {
  for (const ShuffleBuffer* one : shuffles_)
    if (!one->took_all() && one->most_held() < set_.shuffled().initial)
      return fmt::format("a shuffle buffer had {} of the {} samples that it holds before the first is handed over",
                         one->most_held(), set_.shuffled().initial);
  return "";
}

void Inputs::report_shuffling(std::optional<double> first_wait_s, std::vector<std::string>& notes) const {
  if (shuffles_.empty()) return;
  if (first_wait_s)
    notes.push_back(fmt::format(
        "{} for the first step's data, with {} of {} samples in each worker's shuffle buffer; all of them held up to "
        "{}",
        format_duration(*first_wait_s), set_.shuffling.initial, set_.shuffling.samples,
        format_quantity(shuffle_bytes(), Dimension::bytes)));
  const auto all = static_cast<std::uint64_t>(std::ranges::count_if(shuffles_, &ShuffleBuffer::took_all));
  if (all > 0)
    notes.push_back(
        fmt::format("the data of {} of {} workers ended before their shuffle buffers of {} samples were full. The "
                    "usual state of a loader, one read per delivered sample, was not measured",
                    all, set_.io.workers, set_.shuffling.samples));
}

void Inputs::report_engine(std::vector<std::string>& notes) {
  if (engine_ == nullptr) return;
  for (std::string& note : engine_->take_notes()) notes.push_back(std::move(note));
}

void Inputs::report_shards(std::vector<std::string>& notes) {
  std::move(shard_notes_.begin(), shard_notes_.end(), std::back_inserter(notes));
  shard_notes_.clear();
}

std::vector<WrongBlock> Inputs::verify(const DataProgress& progress) {
  return data_ ? data_->verify(progress) : std::vector<WrongBlock>{};
}

void Inputs::prepare_decoding(Node& node, const DataProgress& progress) {
  if (!set_.decoding.active()) return;
  if (set_.decodes_what_is_read()) {
    if (set_.several_are_decoded()) find_several();
    return;
  }
  if (!set_.has_samples()) return set_.decoding.hold_drawn(node, set_.sample_size);
  data_ = DataSet::open(set_.spec, node, progress);
  const bool several = set_.layout == Layout::shards || set_.several_are_decoded();
  if (several) shards_ = parsed_shards();
  set_.decoding.hold(*data_, several ? &shards_ : nullptr, set_.passes_over_bad);
  shards_ = {};
  data_.reset();
}

OwnShards Inputs::parsed_shards() const {
  OwnShards shards = own_shards(*data_, zstd_, why_no_zstd_);
  if (shards.format == formats::Format::none)
    throw RunError(fmt::format(
        "{}: samples are decoded out of {}, and these are {} (codec: none, with cpu_time_per_sample, leaves "
        "decoding out)",
        data_->files().root(),
        data_->files().holds_objects() ? "tar and TFRecord shards, where they are objects"
                                       : "tar, TFRecord and MDS files",
        shards.foreign.name.empty() ? "none" : fmt::format("{}; {}", shards.foreign.name, shards.foreign.nearest)));
  return shards;
}

void Inputs::find_several() {
  shards_ = parsed_shards();
  several_.clear();
  for (unsigned i = 0; i < set_.io.workers; ++i)
    several_.emplace_back(shards_, set_.decoding.payload(set_.sample_size));
}

void Inputs::find_shards() {
  idle_workers_ = 0;
  shards_ = {};
  shard_notes_.clear();
  if (data_->generated() && !data_->holds_samples()) {
    shards_.files.resize(data_->files().count());
    std::iota(shards_.files.begin(), shards_.files.end(), 0u);
    return;
  }
  shards_ = set_.decoding.active() ? parsed_shards() : own_shards(*data_, zstd_, why_no_zstd_);
  if (shards_.format == formats::Format::none) {
    const bool objects = data_->files().holds_objects();
    shard_notes_.push_back(fmt::format(
        "the {} are {}: they are read from front to back, and no sample is parsed{}", objects ? "objects" : "files",
        !shards_.foreign.name.empty() ? shards_.foreign.name
        : objects                     ? "neither tar nor TFRecord shards"
                                      : "none of tar, TFRecord and MDS",
        shards_.foreign.name.empty() ? "" : fmt::format(" ({})", shards_.foreign.nearest)));
    return;
  }
  for (unsigned i = 0; i < set_.io.workers; ++i)
    idle_workers_ += shards_.of(i, set_.io.workers, team_index_, team_size_).empty();
  std::vector<std::string> lacking;
  for (const MdsIndexFault& fault : shards_.faults) lacking.push_back(fault.words);
  // TensorFlow reads a file of no byte as one of no records.
  for (const std::string& name : shards_.empty)
    (shards_.format == formats::Format::tfrecord ? shard_notes_ : lacking)
        .push_back(data_->files().root() + "/" + name + ": the shard is empty (0 bytes)");
  if (idle_workers_ > 0)
    lacking.push_back(fmt::format("{} of {} workers have no shard: there are {} for {} process{}", idle_workers_,
                                  set_.io.workers, shards_.files.size(), team_size_, team_size_ == 1 ? "" : "es"));
  if (!set_.passes_over_bad && !lacking.empty()) throw RunError(lacking.front() + " (on_error: skip goes on)");
  std::move(lacking.begin(), lacking.end(), std::back_inserter(shard_notes_));
  shard_notes_.push_back(
      fmt::format("samples are those of {} {} shards, parsed{}", shards_.files.size(), to_string(shards_.format),
                  shards_.parts.empty() ? "" : fmt::format("; each has to have: {}", fmt::join(shards_.parts, ", "))));
  if (shards_.packed > 0)
    shard_notes_.push_back(
        fmt::format("{} shards are unpacked by zstd first, each as a whole, as StreamingDataset does", shards_.packed));
  if (shards_.others > 0)
    shard_notes_.push_back(fmt::format("{} other files beside the shards are not read", shards_.others));
}

std::unique_ptr<SampleSource> Inputs::make_source(unsigned number) const {
  if (set_.from == "none") return no_source();
  if (set_.groups.active())
    return set_.groups.source(number + team_index_ * set_.io.workers, set_.io.workers * team_size_,
                              set_.from == "memory");
  if (set_.from == "memory") return memory_source(memory_, set_.operation_bytes());
  const FileTable& files = data_->files();
  const std::uint64_t per_batch = set_.operations_at_once();
  ReaderOptions options = set_.io.reader_options();
  switch (set_.layout) {
    case Layout::files: {
      const WorkerShare share{.gpu = number % set_.gpus,
                              .gpus = set_.gpus,
                              .worker = number / set_.gpus,
                              .workers = set_.io.workers / set_.gpus,
                              .per_batch = per_batch,
                              .own_share = set_.loader.kind() == Loader::Kind::pytorch_iterable};
      // A decoder gets a file in one piece.
      options.keep_data = set_.decodes_what_is_read();
      if (options.keep_data) options.block_size = std::max(options.block_size, (files.largest() + 4095) / 4096 * 4096);
      if (set_.flies()) return files_in_flight(engine_->whole_file_reader(files, options), order_, share);
      return whole_files_source(set_.profile == ReadProfile::whole
                                    ? engine_->whole_file_reader(files, options)
                                    : profile_file_reader(set_.profile, files, options.keep_data),
                                order_, share);
    }
    case Layout::shards: {
      std::vector<std::uint32_t> shards = shards_.of(number, set_.io.workers, team_index_, team_size_);
      options.keep_data = shards_.format != formats::Format::none || set_.shuffling.active();
      if (set_.flies()) options.advice = Advice::sequential;  // frameworks give the kernel no advice
      auto reader = set_.profile == ReadProfile::ranged
                        ? engine_->block_reader(files, shards, options)
                        : profile_block_reader(set_.profile, files, shards, set_.io.block_size);
      if (set_.flies()) {
        std::vector<std::uint64_t> sizes;
        for (const std::uint32_t shard : shards) sizes.push_back(files.size(shard));
        reader = read_ahead(std::move(reader), std::move(sizes), set_.io.block_size, set_.io.queue_depth);
      }
      if (shards_.format != formats::Format::none)
        return own_shards_source(std::move(reader), files, std::move(shards), set_.io.block_size, shards_, payload(),
                                 set_.settled);
      return shards_source(std::move(reader), files, std::move(shards), set_.io.block_size, set_.sample_size, per_batch,
                           set_.shuffling.active(), set_.settled);
    }
    case Layout::indexed:
      break;
  }
  if (set_.flies()) options.advice = Advice::random;
  options.keep_data = set_.shuffling.active();
  const bool plain = set_.profile == ReadProfile::ranged || set_.profile == ReadProfile::mmap;
  auto reader = plain ? engine_->block_reader(files, places_->selected(), options)
                      : profile_block_reader(set_.profile, files, places_->selected(), set_.io.block_size);
  const std::uint64_t blocks = (set_.sample_size + set_.io.block_size - 1) / set_.io.block_size;
  if (set_.flies())
    return places_in_flight(std::move(reader), *places_, set_.io.block_size, blocks, number, set_.io.workers, per_batch,
                            set_.io.queue_depth);
  return places_source(std::move(reader), *places_, set_.io.block_size, blocks, number, set_.io.workers, per_batch,
                       set_.shuffling.active());
}

std::unique_ptr<formats::Payload> Inputs::payload() const {
  if (set_.decodes_what_is_read()) return set_.decoding.payload(set_.sample_size);
  return set_.shuffling.active() ? std::make_unique<formats::Payload>(2 * set_.sample_size) : nullptr;
}

}  // namespace headrace::input_pipeline
