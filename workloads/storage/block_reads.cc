#include "workloads/storage/block_reads.h"

#include <array>
#include <utility>

#include "harness/backends/loader.h"

namespace headrace {
namespace {

StorageParams::Defaults with_engine_of(const Loader& loader, StorageParams::Defaults defaults) {
  if (defaults.engine.empty()) defaults.engine = loader.engine();
  defaults.objects = true;
  return defaults;
}

}  // namespace

BlockReads::BlockReads(Params& p, const Keys& keys)
    : loader_(Loader::declare(p)),
      profile_(read_profile(p.choice("read_profile", keys.profiles.front(), keys.profiles, keys.profile_help))),
      io_(StorageParams::declare(p, with_engine_of(loader_, keys.io(profile_)))),
      tuning_(Tuning::declare(p, io_, keys.tunes_block_size)),
      spec_(DataSetSpec::declare(p, {.files = 4, .file_size = 256_MiB, .samples = true, .objects = true})),
      advice_(keys.advice) {}

void BlockReads::declare_rate(Params& p) {
  const auto block = static_cast<double>(io_.block_size);
  const std::array per_read{PerOperation{"read_iops", 1}, PerOperation{"read_bandwidth", block},
                            PerOperation{"sample_rate", block / static_cast<double>(sample_size_)}};
  open_loop_ = OpenLoop::declare(p, per_read);
  if (open_loop_.asked() && tuning_.wanted()) p.conflict("tune", OpenLoop::kNotTuned);
  if (io_.traits().objects && tuning_.wanted()) p.conflict("tune", "is of files: nothing is searched for objects");
  if (io_.traits().objects && io_.direct)
    p.conflict("direct", "is of files: there is no page cache before an object store");
  if (io_.traits().objects && profile_ != ReadProfile::ranged)
    p.conflict("read_profile", "is of files: of objects ranges are read");
  loader_.check(p, io_, open_loop_, tuning_.wanted());
}

void BlockReads::prepare(Node& node, const DataProgress& progress) {
  team_index_ = node.team_index();
  team_size_ = static_cast<unsigned>(node.team().size());
  data_ = DataSet::open(spec_, node, progress);
  backends_ = &node.backends();
  requests_.open(node, io_.engine, data_->files());
  choose_files();
  open_readers();
}

void BlockReads::search(const RunTrial& trial) {
  tuning_.run(trial, *backends_, [this](const Way& way) {
    io_.engine = way.engine;
    io_.block_size = way.block_size;
    io_.queue_depth = way.queue_depth;
    open_readers();
  });
  open_loop_.ramp(trial);
}

void BlockReads::open_readers() {
  readers_.clear();  // first, so that two sets of buffers never exist at once
  ReaderOptions options = io_.reader_options();
  if (!loader_.in_order()) options.advice = advice_;  // frameworks give the kernel no advice
  StorageEngine& engine = backends_->storage(io_.engine);
  const bool by_engine = profile_ == ReadProfile::ranged || profile_ == ReadProfile::mmap;
  for (unsigned i = 0; i < io_.workers; ++i)
    readers_.push_back({by_engine ? engine.block_reader(data_->files(), files_of(i), options)
                                  : profile_block_reader(profile_, data_->files(), files_of(i), io_.block_size),
                        BlockLoop(io_.queue_depth)});
}

std::uint64_t BlockReads::reads_in_batch() const {
  return loader_.operations(static_cast<double>(io_.block_size) / static_cast<double>(sample_size_));
}

std::vector<std::string> BlockReads::notes() {
  std::vector<std::string> notes;
  if (backends_) notes = backends_->storage(io_.engine).take_notes();
  if (!tuning_.note().empty()) notes.push_back(tuning_.note());
  requests_.add_notes(notes);
  for (std::string& note : open_loop_.notes()) notes.push_back(std::move(note));
  if (std::string more = data_ ? left_out() : ""; !more.empty()) notes.push_back(std::move(more));
  return notes;
}

void BlockReads::cleanup(Node&) {
  readers_.clear();
  data_.reset();
}

}  // namespace headrace
