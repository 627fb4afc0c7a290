#include "workloads/storage/input_pipeline/in_flight_sources.h"

#include <algorithm>
#include <utility>

#include "harness/base/clock.h"
#include "harness/workload/data/block_loop.h"

namespace headrace {
namespace {

SampleRead over() noexcept {
  SampleRead none;
  none.over = true;
  none.begin_ns = none.end_ns = now_ns();
  return none;
}

class FilesInFlight final : public SampleSource {
 public:
  FilesInFlight(std::unique_ptr<WholeFileReader> reader, const FileQueue& order, const WorkerShare& share)
      : reader_(std::move(reader)), order_(order), share_(share) {
    asked_.reserve(reader_->free_slots());
  }
  void attach() override { reader_->attach(); }
  void detach() noexcept override {
    for (came_ = {}; in_flight_ > 0; in_flight_ -= came_.size()) came_ = reader_->exchange({}, 1);
    came_ = {};
  }
  void rewind(std::uint64_t) override {
    next_ = given_ = passed_ = 0;
    in_flight_ = 0;
    came_ = {};
    const std::uint64_t all = share_.workers * share_.gpus, first = share_.worker * share_.gpus + share_.gpu;
    own_ = order_.size() > first ? (order_.size() - first - 1) / all + 1 : 0;
  }
  void pass_over() noexcept override { ++passed_; }
  bool has(std::uint64_t) noexcept override { return own_ - given_ >= share_.per_batch; }

  SampleRead read(std::uint64_t, std::uint64_t) noexcept override {
    if (came_.empty()) {
      // Samples that make no whole batch are not read, except in place of unusable ones.
      const std::uint64_t wanted = std::min(own_, own_ / share_.per_batch * share_.per_batch + passed_);
      asked_.clear();
      for (const unsigned most = reader_->free_slots(); next_ < wanted && asked_.size() < most; ++next_)
        asked_.push_back(order_[(next_ * share_.workers + share_.worker) * share_.gpus + share_.gpu]);
      in_flight_ += asked_.size();
      if (in_flight_ == 0) return over();
      came_ = reader_->exchange(asked_, 1);
      in_flight_ -= came_.size();
    }
    const FileCompletion& file = came_.front();
    came_ = came_.subspan(1);
    ++given_;
    return sample_of(file, *reader_);
  }

 private:
  std::unique_ptr<WholeFileReader> reader_;
  const FileQueue& order_;
  const WorkerShare share_;
  std::vector<std::uint32_t> asked_;
  std::span<const FileCompletion> came_;  // and was not handed over
  std::uint64_t own_ = 0, next_ = 0, given_ = 0, passed_ = 0;
  std::size_t in_flight_ = 0;
};

class PlacesInFlight final : public SampleSource {
 public:
  PlacesInFlight(std::unique_ptr<BlockReader> reader, const BlockPlaces& places, std::uint64_t block_size,
                 std::uint64_t blocks_per_sample, unsigned number, unsigned count, std::uint64_t per_batch,
                 std::uint32_t depth)
      : reader_(std::move(reader)),
        places_(places),
        block_size_(block_size),
        blocks_per_sample_(blocks_per_sample),
        number_(number),
        count_(count),
        per_batch_(per_batch),
        samples_(depth + 1),
        sample_of_(depth) {
    requests_.reserve(depth);
    came_.reserve(depth);
    slots_.reserve(depth);
    free_.reserve(samples_.size());
  }
  void attach() override { reader_->attach(); }
  void detach() noexcept override {
    while (in_flight_ > 0) in_flight_ -= reader_->exchange({}, 1).size();
    reader_->detach();
  }

  void rewind(std::uint64_t seed) override {
    order_ = RandomOrder(places_.count(), seed);
    steps_ = places_.steps(order_, places_.blocks());
    step_ = number_;
    std::uint64_t place, blocks = 0;
    for (std::uint64_t step = number_; step < steps_; step += count_) blocks += order_.at(step, place);
    own_ = blocks / blocks_per_sample_ / per_batch_ * per_batch_;
    begun_ = given_ = 0;
    in_flight_ = 0;
    slots_.clear();
    free_.clear();
    for (std::uint32_t i = 0; i < sample_of_.size(); ++i) slots_.push_back(i);
    for (std::uint32_t i = 0; i < samples_.size(); ++i) free_.push_back(i);
    came_.clear();
    now_ = kNone;
  }
  bool has(std::uint64_t) noexcept override { return own_ - given_ >= per_batch_; }

  SampleRead read(std::uint64_t, std::uint64_t) noexcept override {
    while (true) {
      while (!came_.empty()) {
        const BlockCompletion block = came_.back();
        came_.pop_back();
        const std::uint32_t index = sample_of_[block.slot];
        slots_.push_back(block.slot);
        if (const SampleRead* whole = take(samples_[index], block)) {
          free_.push_back(index);
          ++given_;
          return *whole;
        }
      }
      ask();
      in_flight_ += requests_.size();
      if (in_flight_ == 0) return over();
      const auto done = reader_->exchange(requests_, 1);
      in_flight_ -= done.size();
      came_.assign(done.begin(), done.end());
    }
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Sample {
    SampleRead read;
    std::uint64_t to_ask = 0, to_come = 0;  // blocks
  };

  /// As many blocks as there are slots for; a sample's one after the other.
  void ask() noexcept {
    requests_.clear();
    while (!slots_.empty()) {
      if (now_ == kNone) {
        if (begun_ == own_ || free_.empty()) return;
        now_ = free_.back();
        free_.pop_back();
        ++begun_;
        samples_[now_] = {.read = {}, .to_ask = blocks_per_sample_, .to_come = blocks_per_sample_};
      }
      std::uint64_t place = 0;
      for (bool found = false; !found; step_ += count_) found = order_.at(step_, place);
      BlockRequest request;
      places_.locate(place, request);
      request.slot = slots_.back();
      slots_.pop_back();
      sample_of_[request.slot] = now_;
      requests_.push_back(request);
      if (--samples_[now_].to_ask == 0) now_ = kNone;
    }
  }
  /// The sample, when that was its last block.
  const SampleRead* take(Sample& sample, const BlockCompletion& block) const noexcept {
    SampleRead& read = sample.read;
    if (read.begin_ns == 0 || block.begin_ns < read.begin_ns) read.begin_ns = block.begin_ns;
    read.end_ns = std::max(read.end_ns, block.end_ns);
    if (block.result >= static_cast<std::int64_t>(block_size_)) {
      read.bytes += block_size_;
    } else if (read.error.code == 0) {
      read.error = failed_block(block, places_.selected()[block.file]);
    }
    return --sample.to_come == 0 ? &read : nullptr;
  }

  std::unique_ptr<BlockReader> reader_;
  const BlockPlaces& places_;
  const std::uint64_t block_size_, blocks_per_sample_, number_, count_, per_batch_;
  RandomOrder order_{1, 0};
  std::vector<Sample> samples_;
  std::vector<std::uint32_t> sample_of_, slots_, free_;  // by slot; free slots; free samples
  std::vector<BlockRequest> requests_;
  std::vector<BlockCompletion> came_;
  std::uint32_t now_ = kNone;  // the sample whose blocks are being asked for
  std::size_t in_flight_ = 0;
  std::uint64_t steps_ = 0, step_ = 0, own_ = 0, begun_ = 0, given_ = 0;
};

class ReadAhead final : public BlockReader {
 public:
  ReadAhead(std::unique_ptr<BlockReader> reader, std::vector<std::uint64_t> sizes, std::uint64_t block_size,
            std::uint32_t depth)
      : reader_(std::move(reader)), sizes_(std::move(sizes)), block_size_(block_size), blocks_(depth) {
    requests_.reserve(depth);
  }
  void attach() override {
    reader_->attach();
    first_ = count_ = 0;
    held_ = false;
  }
  void detach() noexcept override {
    drop();
    reader_->detach();
  }

  std::span<const BlockCompletion> exchange(std::span<const BlockRequest> requests, unsigned) override {
    if (requests.empty()) return {};
    const BlockRequest& wanted = requests.front();
    if (held_) pop();
    held_ = false;
    if (count_ > 0 && (front().file != wanted.file || front().offset != wanted.offset)) drop();
    if (count_ == 0) next_ = wanted;
    ask();
    while (!front().came) {
      for (const BlockCompletion& block : reader_->exchange(requests_, 1)) {
        blocks_[block.slot].completion = block;
        blocks_[block.slot].came = true;
      }
      requests_.clear();
    }
    if (!requests_.empty()) {  // the next ones set out, though nothing is waited for
      for (const BlockCompletion& block : reader_->exchange(requests_, 0)) {
        blocks_[block.slot].completion = block;
        blocks_[block.slot].came = true;
      }
      requests_.clear();
    }
    held_ = true;
    return {&front().completion, 1};
  }
  /// The data of the last delivered block, for any requested slot.
  unsigned char* data(std::uint32_t) override { return reader_->data(static_cast<std::uint32_t>(first_)); }

 private:
  struct Block {
    std::uint32_t file = 0;
    std::uint64_t offset = 0;
    bool came = false;
    BlockCompletion completion{};
  };

  Block& front() noexcept { return blocks_[first_]; }
  void pop() noexcept {
    first_ = (first_ + 1) % blocks_.size();
    --count_;
  }
  /// The caller went elsewhere: waits for files under way, and forgets them.
  void drop() noexcept {
    requests_.clear();
    for (; count_ > 0; pop())
      while (!front().came)
        for (const BlockCompletion& block : reader_->exchange({}, 1)) blocks_[block.slot].came = true;
  }
  /// Requests for all that follows in this file, as far as there is room.
  void ask() noexcept {
    while (count_ < blocks_.size() && next_.offset < sizes_[next_.file]) {
      const std::size_t slot = (first_ + count_) % blocks_.size();
      next_.slot = static_cast<std::uint32_t>(slot);
      next_.length = static_cast<std::uint32_t>(std::min(block_size_, sizes_[next_.file] - next_.offset));
      blocks_[slot] = {.file = next_.file, .offset = next_.offset, .came = false, .completion = {}};
      requests_.push_back(next_);
      next_.offset += next_.length;
      ++count_;
    }
  }

  std::unique_ptr<BlockReader> reader_;
  const std::vector<std::uint64_t> sizes_;
  const std::uint64_t block_size_;
  std::vector<Block> blocks_;  // a ring; a block's place is its slot
  std::vector<BlockRequest> requests_;
  std::size_t first_ = 0, count_ = 0;
  bool held_ = false;  // the first one was handed over
  BlockRequest next_;
};

}  // namespace

std::unique_ptr<SampleSource> files_in_flight(std::unique_ptr<WholeFileReader> reader, const FileQueue& order,
                                              const WorkerShare& share) {
  return std::make_unique<FilesInFlight>(std::move(reader), order, share);
}

std::unique_ptr<SampleSource> places_in_flight(std::unique_ptr<BlockReader> reader, const BlockPlaces& places,
                                               std::uint64_t block_size, std::uint64_t blocks_per_sample,
                                               unsigned number, unsigned count, std::uint64_t per_batch,
                                               std::uint32_t depth) {
  return std::make_unique<PlacesInFlight>(std::move(reader), places, block_size, blocks_per_sample, number, count,
                                          per_batch, depth);
}

std::unique_ptr<BlockReader> read_ahead(std::unique_ptr<BlockReader> reader, std::vector<std::uint64_t> sizes,
                                        std::uint64_t block_size, std::uint32_t depth) {
  return std::make_unique<ReadAhead>(std::move(reader), std::move(sizes), block_size, depth);
}

}  // namespace headrace
