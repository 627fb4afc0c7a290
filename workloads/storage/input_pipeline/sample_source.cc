#include "workloads/storage/input_pipeline/sample_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "harness/base/clock.h"
#include "harness/workload/data/block_loop.h"

namespace headrace {
namespace {

class WholeFiles final : public SampleSource {
 public:
  WholeFiles(std::unique_ptr<WholeFileReader> reader, const FileQueue& order, const WorkerShare& share)
      : reader_(std::move(reader)), order_(order), share_(share) {}
  void attach() override { reader_->attach(); }
  void rewind(std::uint64_t) override { passed_ = 0; }
  void pass_over() noexcept override { ++passed_; }
  bool has(std::uint64_t batch) noexcept override { return place(batch, share_.per_batch - 1) < order_.size(); }

  SampleRead read(std::uint64_t batch, std::uint64_t number) noexcept override {
    const std::size_t at = place(batch, number);
    if (at >= order_.size()) {  // others were passed over
      SampleRead none;
      none.over = true;
      none.end_ns = now_ns();
      return none;
    }
    const FileCompletion& file = reader_->exchange({&order_[at], 1}, 1).front();
    return sample_of(file, *reader_);
  }

 private:
  /// GPUs take the order by turns; of a GPU's own part either whole batches or single samples are a worker's.
  std::size_t place(std::uint64_t batch, std::uint64_t number) const noexcept {
    const std::uint64_t own = batch * share_.per_batch + number + passed_, whole = own / share_.per_batch;
    const std::uint64_t of_gpu =
        share_.own_share ? own * share_.workers + share_.worker
                         : (whole * share_.workers + share_.worker) * share_.per_batch + own % share_.per_batch;
    return of_gpu * share_.gpus + share_.gpu;
  }

  std::unique_ptr<WholeFileReader> reader_;
  const FileQueue& order_;
  const WorkerShare share_;
  std::uint64_t passed_ = 0;
};

class Shards final : public SampleSource {
 public:
  Shards(std::unique_ptr<BlockReader> reader, const FileTable& files, std::vector<std::uint32_t> shards,
         std::uint64_t block_size, std::uint64_t sample_size, std::uint64_t per_batch, bool keep, bool continued)
      : reader_(std::move(reader)),
        files_(files),
        shards_(std::move(shards)),
        block_size_(block_size),
        sample_size_(sample_size),
        per_batch_(per_batch),
        continued_(continued),
        sample_(keep ? sample_size : 0) {}
  void attach() override { reader_->attach(); }
  void detach() noexcept override { reader_->detach(); }

  void rewind(std::uint64_t) override {
    // Once around, from where it is.
    if (!continued_ || !cursor_) cursor_.emplace(files_, shards_, block_size_, false, UINT64_MAX);
    at_hand_ = used_ = left_ = 0;
    for (const std::uint32_t shard : shards_) left_ += files_.size(shard);
  }
  bool has(std::uint64_t) noexcept override { return at_hand_ + left_ >= per_batch_ * sample_size_; }

  SampleRead read(std::uint64_t, std::uint64_t) noexcept override {
    SampleRead done;
    if (at_hand_ + left_ < sample_size_) {
      done.over = true;
      done.end_ns = now_ns();
      return done;
    }
    for (std::uint64_t filled = take(0); filled < sample_size_; filled = take(filled)) {
      BlockRequest request;
      cursor_->next(request);
      const std::uint64_t wanted = cursor_->length_at(request.file, request.offset);
      left_ -= wanted;
      if (!read_block(*reader_, request, wanted, shards_[request.file], done)) return done;
      at_hand_ = wanted;
      used_ = 0;
    }
    if (done.begin_ns == 0) done.begin_ns = done.end_ns = now_ns();  // it was in the buffer
    done.data = sample_;
    return done;
  }

 private:
  /// What the block at hand has of the sample, whose first `filled` bytes came before; all that came then.
  std::uint64_t take(std::uint64_t filled) noexcept {
    const std::uint64_t part = std::min(at_hand_, sample_size_ - filled);
    if (!sample_.empty() && part > 0) std::memcpy(sample_.data() + filled, reader_->data(0) + used_, part);
    used_ += part;
    at_hand_ -= part;
    return filled + part;
  }

  std::unique_ptr<BlockReader> reader_;
  const FileTable& files_;
  const std::vector<std::uint32_t> shards_;
  const std::uint64_t block_size_, sample_size_, per_batch_;
  const bool continued_;
  std::vector<unsigned char> sample_;  // where they are kept
  std::optional<FileCursor> cursor_;
  std::uint64_t at_hand_ = 0, used_ = 0, left_ = 0;  // of the block that was read last; bytes that are to be read
};

class Places final : public SampleSource {
 public:
  Places(std::unique_ptr<BlockReader> reader, const BlockPlaces& places, std::uint64_t block_size,
         std::uint64_t blocks_per_sample, unsigned number, unsigned count, std::uint64_t per_batch, bool keep)
      : reader_(std::move(reader)),
        places_(places),
        block_size_(block_size),
        blocks_per_sample_(blocks_per_sample),
        number_(number),
        count_(count),
        per_batch_(per_batch),
        keep_(keep) {}
  void attach() override { reader_->attach(); }
  void detach() noexcept override { reader_->detach(); }

  void rewind(std::uint64_t seed) override {
    order_ = RandomOrder(places_.count(), seed);
    steps_ = places_.steps(order_, places_.blocks());
    step_ = number_;
    left_ = 0;
    std::uint64_t place;
    for (std::uint64_t step = number_; step < steps_; step += count_) left_ += order_.at(step, place);
  }
  bool has(std::uint64_t) noexcept override { return left_ >= per_batch_ * blocks_per_sample_; }

  SampleRead read(std::uint64_t, std::uint64_t) noexcept override {
    SampleRead done;
    if (left_ < blocks_per_sample_) {
      done.over = true;
      done.end_ns = now_ns();
      return done;
    }
    for (std::uint64_t i = 0; i < blocks_per_sample_; ++i) {
      std::uint64_t place = 0;
      for (bool found = false; !found; step_ += count_) found = order_.at(step_, place);
      --left_;
      BlockRequest request;
      places_.locate(place, request);
      if (!read_block(*reader_, request, block_size_, places_.selected()[request.file], done)) return done;
    }
    if (keep_) done.data = {reader_->data(0), block_size_};
    return done;
  }

 private:
  std::unique_ptr<BlockReader> reader_;
  const BlockPlaces& places_;
  const std::uint64_t block_size_, blocks_per_sample_, number_, count_, per_batch_;
  const bool keep_;
  RandomOrder order_{1, 0};
  std::uint64_t steps_ = 0, step_ = 0, left_ = 0;  // of the order: all, this worker's next; its blocks to come
};

class Memory final : public SampleSource {
 public:
  Memory(std::span<const unsigned char> memory, std::uint64_t bytes) : memory_(memory), bytes_(bytes), sample_(bytes) {}
  void rewind(std::uint64_t) override { at_ = 0; }
  bool has(std::uint64_t) noexcept override { return true; }
  SampleRead read(std::uint64_t, std::uint64_t) noexcept override {
    SampleRead done{.begin_ns = now_ns(), .end_ns = 0, .bytes = bytes_, .error = {}};
    for (std::uint64_t copied = 0; copied < bytes_;) {
      const std::uint64_t part = std::min<std::uint64_t>(bytes_ - copied, memory_.size() - at_);
      std::memcpy(sample_.data() + copied, memory_.data() + at_, part);
      copied += part;
      at_ = (at_ + part) % memory_.size();
    }
    done.end_ns = now_ns();
    done.data = sample_;
    return done;
  }

 private:
  std::span<const unsigned char> memory_;
  const std::uint64_t bytes_;
  std::vector<unsigned char> sample_;
  std::uint64_t at_ = 0;
};

class Nothing final : public SampleSource {
 public:
  void rewind(std::uint64_t) override {}
  bool has(std::uint64_t) noexcept override { return true; }
  SampleRead read(std::uint64_t, std::uint64_t) noexcept override {
    const std::uint64_t now = now_ns();
    return {.begin_ns = now, .end_ns = now, .bytes = 0, .error = {}};
  }
};

}  // namespace

SampleRead sample_of(const FileCompletion& file, WholeFileReader& reader) noexcept {
  SampleRead done{.begin_ns = file.begin_ns, .end_ns = file.end_ns, .bytes = file.bytes, .error = {}};
  if (const unsigned char* data = reader.data(file.slot)) done.data = {data, file.bytes};
  done.file = file.file;
  if (file.error != 0) done.error = {.code = file.error, .file = file.file, .offset = file.failed_offset, .part = 0};
  return done;
}

bool read_block(BlockReader& reader, const BlockRequest& request, std::uint64_t wanted, std::uint32_t file,
                SampleRead& done) noexcept {
  const BlockCompletion& block = reader.exchange({&request, 1}, 1).front();
  if (done.begin_ns == 0) done.begin_ns = block.begin_ns;
  done.end_ns = block.end_ns;
  if (block.end_ns - block.begin_ns > done.longest_ns) {
    done.longest_ns = block.end_ns - block.begin_ns;
    done.file = file;
    done.offset = request.offset;
  }
  if (block.result >= static_cast<std::int64_t>(wanted)) {
    done.bytes += wanted;
    return true;
  }
  done.error = failed_block(block, file);
  return false;
}

std::unique_ptr<SampleSource> whole_files_source(std::unique_ptr<WholeFileReader> reader, const FileQueue& order,
                                                 const WorkerShare& share) {
  return std::make_unique<WholeFiles>(std::move(reader), order, share);
}

std::unique_ptr<SampleSource> shards_source(std::unique_ptr<BlockReader> reader, const FileTable& files,
                                            std::vector<std::uint32_t> shards, std::uint64_t block_size,
                                            std::uint64_t sample_size, std::uint64_t per_batch, bool keep,
                                            bool continued) {
  return std::make_unique<Shards>(std::move(reader), files, std::move(shards), block_size, sample_size, per_batch, keep,
                                  continued);
}

std::unique_ptr<SampleSource> places_source(std::unique_ptr<BlockReader> reader, const BlockPlaces& places,
                                            std::uint64_t block_size, std::uint64_t blocks_per_sample, unsigned number,
                                            unsigned count, std::uint64_t per_batch, bool keep) {
  return std::make_unique<Places>(std::move(reader), places, block_size, blocks_per_sample, number, count, per_batch,
                                  keep);
}

std::unique_ptr<SampleSource> memory_source(std::span<const unsigned char> memory, std::uint64_t bytes) {
  return std::make_unique<Memory>(memory, bytes);
}

std::unique_ptr<SampleSource> no_source() { return std::make_unique<Nothing>(); }

}  // namespace headrace
