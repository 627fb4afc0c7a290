// Reads of files straight into GPU memory, by the library: one by one, in batches, or ordered by a stream.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/base/clock.h"
#include "harness/base/error.h"
#include "harness/record/params.h"

namespace headrace::gpu {

enum class ReadCalls { single, batch, stream };

/// `calls:`.
inline ReadCalls declare_read_calls(Params& p) {
  const std::string word =
      p.choice("calls", "single", {"single", "batch", "stream"},
               "of method: cufile. single: each worker waits for each read. batch: reads_in_flight of them in two "
               "batches, one refilled during the other. stream: as many in the order of a CUDA stream");
  return word == "single" ? ReadCalls::single : word == "batch" ? ReadCalls::batch : ReadCalls::stream;
}

/// For one worker, on its thread. Slots are one behind the other in the memory that the reader was made for.
class StraightReads {
 public:
  StraightReads(GpuFileReader& reader, GpuStream& stream, ReadCalls calls, unsigned slots, std::uint64_t slot_bytes)
      : reader_(reader), stream_(stream), calls_(calls), slot_bytes_(slot_bytes), reads_(slots), begun_ns_(slots) {
    const auto half = (slots + 1) / 2;
    if (calls_ == ReadCalls::batch)
      for (auto& batch : batches_) batch = reader.batch(half);
  }

  /// Until `next(read)`, which fills in file, offset and length, has no more. `done(slot, read, begin_ns, end_ns)` is called for
  /// each that ended, with its result.
  template <class Next, class Done>
  void run(const Next& next, const Done& done) {
    if (calls_ == ReadCalls::single) return one_by_one(next, done);
    if (calls_ == ReadCalls::batch) return in_batches(next, done);
    try {
      in_order(next, done);
    } catch (...) {
      try {  // queued work fills in results
        stream_.wait();
      } catch (const RunError&) {  // the GPU was given up
      }
      throw;
    }
  }

 private:
  template <class Next>
  bool fill(unsigned slot, const Next& next) {
    GpuRead& read = reads_[slot];
    read = {};
    if (!next(read)) return false;
    read.to = slot * slot_bytes_;
    begun_ns_[slot] = now_ns();
    return true;
  }

  template <class Next, class Done>
  void one_by_one(const Next& next, const Done& done) {
    for (unsigned slot = 0; fill(slot, next); slot = (slot + 1) % slots()) {
      GpuRead& read = reads_[slot];
      read.result = reader_.read(read.file, read.offset, read.length, read.to);
      done(slot, read, begun_ns_[slot], now_ns());
    }
  }

  template <class Next, class Done>
  void in_batches(const Next& next, const Done& done) {
    const unsigned half = (slots() + 1) / 2;
    struct Part {
      unsigned first, count = 0;
    } parts[2] = {{0}, {slots() > 1 ? half : 0}};
    const auto begin = [&](unsigned which) {
      Part& part = parts[which];
      const unsigned most = which == 0 ? half : slots() - half;
      for (part.count = 0; part.count < most && fill(part.first + part.count, next);) ++part.count;
      if (part.count > 0) batches_[which]->begin(std::span(reads_).subspan(part.first, part.count));
    };
    begin(0);
    begin(1);
    for (unsigned which = 0; parts[0].count + parts[1].count > 0; which = 1 - which) {
      Part& part = parts[which];
      if (part.count == 0) continue;
      batches_[which]->end();
      const std::uint64_t now = now_ns();
      for (unsigned slot = part.first; slot < part.first + part.count; ++slot)
        done(slot, reads_[slot], begun_ns_[slot], now);
      begin(which);
    }
  }

  template <class Next, class Done>
  void in_order(const Next& next, const Done& done) {
    std::uint64_t queued = 0, ended = 0;
    for (bool more = true; more || ended < queued;) {
      while (more && queued - ended < slots()) {
        const auto slot = static_cast<unsigned>(queued % slots());
        if (!(more = fill(slot, next))) break;
        reader_.queue(reads_[slot], stream_);
        stream_.mark(slot);
        ++queued;
      }
      if (ended == queued) break;
      const auto slot = static_cast<unsigned>(ended % slots());
      stream_.wait_mark(slot);
      if (reads_[slot].result < 0) reads_[slot].result = -EIO;  // the library's own code
      done(slot, reads_[slot], begun_ns_[slot], now_ns());
      ++ended;
    }
  }

  unsigned slots() const noexcept { return static_cast<unsigned>(reads_.size()); }

  GpuFileReader& reader_;
  GpuStream& stream_;
  const ReadCalls calls_;
  const std::uint64_t slot_bytes_;
  std::vector<GpuRead> reads_;  // by slot
  std::vector<std::uint64_t> begun_ns_;
  std::unique_ptr<GpuReadBatch> batches_[2];
};

}  // namespace headrace::gpu
