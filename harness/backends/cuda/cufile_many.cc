#include "harness/backends/cuda/cufile_many.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "harness/base/error.h"

namespace headrace::cuda {
namespace {

RunError failed(const char* what, CuFile::Status status) {
  return RunError(std::string(what) + ": " + CuFile::words(status.code));
}

/// cuFile's own codes are no errno, and its -1 says only that something failed.
std::int64_t plain(std::int64_t result) noexcept { return result < 0 ? -EIO : result; }

class Batch final : public GpuReadBatch {
 public:
  Batch(CuFile& cufile, const std::vector<void*>& files, const GpuMemory& memory, unsigned most)
      : cufile_(cufile), files_(files), memory_(memory), wanted_(most), events_(most) {
    if (!cufile.make_batch || !cufile.submit_batch || !cufile.ask_batch || !cufile.cancel_batch || !cufile.free_batch)
      throw Unsupported("libcufile.so.0 has no batches: that of CUDA 12.2 has");
    if (const auto status = cufile.make_batch(&batch_, most); status.code != 0)
      throw failed("make a batch of GPUDirect Storage", status);
  }
  ~Batch() override {
    try {
      end();
    } catch (const RunError&) {  // the earlier caller reported it
    }
    cufile_.free_batch(batch_);
  }

  void begin(std::span<GpuRead> reads) override {
    if (left_ > 0) end();  // of a run that failed in between
    for (std::size_t i = 0; i < reads.size(); ++i) {
      GpuRead& read = reads[i];
      wanted_[i].read = {memory_.begin(), static_cast<off_t>(read.offset), static_cast<off_t>(read.to), read.length};
      wanted_[i].file = files_[read.file];
      wanted_[i].cookie = &read;
    }
    const auto status = cufile_.submit_batch(batch_, static_cast<unsigned>(reads.size()), wanted_.data(), 0);
    if (status.code != 0) throw failed("hand a batch over to GPUDirect Storage", status);
    left_ = static_cast<unsigned>(reads.size());
  }

  void end() override {
    constexpr int kComplete = 0x10, kEnded = 0x04 | 0x08 | 0x20 | 0x40;  // invalid, cancelled, timed out, failed
    while (left_ > 0) {
      auto count = static_cast<unsigned>(events_.size());
      timespec patience{kPatience_s, 0};
      const auto status = cufile_.ask_batch(batch_, left_, &count, events_.data(), &patience);
      if (status.code != 0 || count == 0) {
        left_ = 0;
        cufile_.cancel_batch(batch_);  // or it would go on writing where other things will lie
        throw status.code != 0
            ? failed("ask a batch of GPUDirect Storage", status)
            : RunError("a batch of GPUDirect Storage did not end within " + std::to_string(kPatience_s) + " s");
      }
      for (const CuFile::BatchEvent& event : std::span(events_).first(count)) {
        auto& read = *static_cast<GpuRead*>(event.cookie);
        if (event.status == kComplete)
          read.result = plain(static_cast<std::int64_t>(event.result));
        else if (event.status & kEnded)
          read.result = -EIO;
        else
          continue;
        --left_;
      }
    }
  }

 private:
  static constexpr int kPatience_s = 60;

  CuFile& cufile_;
  const std::vector<void*>& files_;
  const GpuMemory& memory_;
  void* batch_ = nullptr;
  std::vector<CuFile::BatchRead> wanted_;
  std::vector<CuFile::BatchEvent> events_;
  unsigned left_ = 0;  // not ended yet
};

class Queued final : public QueuedReads {
 public:
  Queued(CuFile& cufile, const std::vector<void*>& files, const GpuMemory& memory)
      : cufile_(cufile), files_(files), memory_(memory) {
    if (!cufile.read_queued) throw Unsupported("libcufile.so.0 queues no reads behind others: that of CUDA 12.2 does");
  }
  ~Queued() override {
    if (!cufile_.forget_stream) return;
    for (void* stream : streams_) cufile_.forget_stream(stream);
  }

  void queue(GpuRead& read, GpuStream& stream) override {
    void* const handle = stream.native();
    if (streams_.insert(handle).second && cufile_.use_stream) {
      constexpr unsigned kAllKnownAtOnce = 0x7;     // offsets and size do not change after the call
      cufile_.use_stream(handle, kAllKnownAtOnce);  // refused: slower, not wrong
    }
    // The parameters that the library reads when the stream gets there, and which live as long as the read.
    Words& words = words_[&read];
    words = {read.length, static_cast<off_t>(read.offset), static_cast<off_t>(read.to)};
    static_assert(sizeof(ssize_t) == sizeof read.result);
    const auto status = cufile_.read_queued(files_[read.file], memory_.begin(), &words.length, &words.file_offset,
                                            &words.memory_offset, reinterpret_cast<ssize_t*>(&read.result), handle);
    if (status.code != 0) throw failed("queue a read of GPUDirect Storage", status);
  }

 private:
  struct Words {
    std::size_t length;
    off_t file_offset, memory_offset;
  };
  CuFile& cufile_;
  const std::vector<void*>& files_;
  const GpuMemory& memory_;
  std::map<const GpuRead*, Words> words_;  // of as many reads as are queued at once, again and again
  std::set<void*> streams_;
};

}  // namespace

std::unique_ptr<GpuReadBatch> make_read_batch(CuFile& cufile, const std::vector<void*>& files, const GpuMemory& memory,
                                              unsigned most) {
  return std::make_unique<Batch>(cufile, files, memory, most);
}

std::unique_ptr<QueuedReads> make_queued_reads(CuFile& cufile, const std::vector<void*>& files,
                                               const GpuMemory& memory) {
  return std::make_unique<Queued>(cufile, files, memory);
}

}  // namespace headrace::cuda
