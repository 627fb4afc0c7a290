#include "workloads/storage/input_pipeline/shuffle_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "harness/backends/formats/bad_sample.h"
#include "harness/base/clock.h"
#include "harness/base/units.h"
#include "harness/machine/node.h"

namespace headrace {

Shuffling Shuffling::declare(Params& params, std::uint64_t usual) {
  Shuffling s;
  s.samples = params.count("shuffle_buffer", 0, {.min = 0, .max = 100e6},
                           "samples that each worker holds, undecoded, to hand over a random one of them: WebDataset's "
                           "shuffle(), tf.data's shuffle(); 0: they go on as they come");
  s.initial = params.count("shuffle_initial", s.samples == 0 ? 0 : std::min(s.samples, usual), {.min = 0, .max = 100e6},
                           "samples that it holds before the first one is handed over");
  if (s.initial > s.samples)
    params.conflict("shuffle_initial", "more than the buffer holds: shuffle_buffer at most");
  else if (s.samples > 0 && s.initial == 0)
    params.conflict("shuffle_initial", "the first one to be handed over is held, too: at least 1");
  return s;
}

Shuffling Shuffling::in_operations(double samples_per_operation) const {
  const auto operations = [&](std::uint64_t n) {
    return static_cast<std::uint64_t>(std::ceil(static_cast<double>(n) / std::max(1.0, samples_per_operation)));
  };
  return {.samples = operations(samples), .initial = operations(initial)};
}

std::optional<Skip> Shuffling::check(Node& node, std::uint64_t workers, std::uint64_t bytes) const {
  const double all = static_cast<double>(samples) * static_cast<double>(bytes) * static_cast<double>(workers);
  const auto memory = static_cast<double>(node.memory_available());
  if (all <= memory / 10 * 9) return std::nullopt;
  return Skip{fmt::format("shuffle buffers of {} samples take {} of memory for {} worker{}, {} is available", samples,
                          format_quantity(all, Dimension::bytes, true), workers, workers == 1 ? "" : "s",
                          format_quantity(memory, Dimension::bytes, true))};
}

ShuffleBuffer::ShuffleBuffer(std::unique_ptr<SampleSource> from, const Shuffling& shuffling, std::uint64_t sample_bytes,
                             unsigned number)
    : from_(std::move(from)), initial_(shuffling.initial), number_(number), slots_(shuffling.samples) {
  for (Slot& slot : slots_) {
    slot.memory =
        std::make_unique<unsigned char[]>(sample_bytes);  // zeroed: its pages are there before the clock starts
    slot.room = sample_bytes;
  }
}

void ShuffleBuffer::rewind(std::uint64_t seed) {
  from_->rewind(seed);
  random_ = Random(seed * 1024 + number_);
  held_ = held_bytes_ = most_held_ = most_bytes_ = 0;
  to_read_ = std::max<std::uint64_t>(initial_, 1);
  ended_ = false;
}

SampleRead ShuffleBuffer::read(std::uint64_t batch, std::uint64_t number) noexcept {
  SampleRead done;
  if (to_read_ > 0 && !ended_) {
    done = from_->read(batch, number);
    if (done.error.code != 0) return done;
    ended_ = done.over;
    if (!ended_) {
      if (!keep(done)) {
        done.error = {.code = OperationError::kBadSample,
                      .file = done.file,
                      .offset = done.data_offset,
                      .flaw = static_cast<std::uint8_t>(formats::Flaw::too_large)};
        return done;
      }
      done.held = --to_read_ > 0;
      done.data = {};
      if (done.held) return done;
    }
  }
  done.over = held_ == 0;
  if (done.end_ns == 0) done.begin_ns = done.end_ns = now_ns();  // nothing was read for it
  if (!done.over) hand_over(done);
  return done;
}

bool ShuffleBuffer::keep(const SampleRead& read) noexcept {
  Slot& slot = slots_[held_];
  if (read.data.size() > slot.room) {
    std::unique_ptr<unsigned char[]> more(new (std::nothrow) unsigned char[read.data.size()]);
    if (!more) return false;
    slot.memory = std::move(more);
    slot.room = read.data.size();
  }
  if (!read.data.empty()) std::memcpy(slot.memory.get(), read.data.data(), read.data.size());
  slot.size = read.data.size();
  slot.offset = read.data_offset;
  slot.file = read.data_file.value_or(read.file);
  held_bytes_ += slot.size;
  most_held_ = std::max(most_held_, ++held_);
  most_bytes_ = std::max(most_bytes_, held_bytes_);
  return true;
}

void ShuffleBuffer::hand_over(SampleRead& done) noexcept {
  std::swap(slots_[random_.below(held_)], slots_[held_ - 1]);
  const Slot& slot = slots_[--held_];  // it stays where it is until the next one is kept
  held_bytes_ -= slot.size;
  done.data = {slot.memory.get(), slot.size};
  done.data_offset = slot.offset;
  done.data_file = slot.file;
  to_read_ = held_ + 1 < slots_.size() ? 2 : 1;
}

}  // namespace headrace
