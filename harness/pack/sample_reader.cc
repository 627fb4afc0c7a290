#include "harness/pack/sample_reader.h"

#include <algorithm>
#include <utility>

#include "harness/base/start_thread.h"

namespace headrace::pack {

SampleReader::SampleReader(const ImageFolder& from, std::span<const std::uint32_t> order, const Encoding& as)
    : from_(from), order_(order), as_(as), slots_(kSlots) {
  threads_ = start_threads(kThreads, [this](unsigned) { read_all(); });
}

SampleReader::~SampleReader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
}

void SampleReader::read_all() {
  std::unique_ptr<ObjectReader> objects;  // of this thread
  for (std::unique_lock lock(mutex_);;) {
    room_.wait(lock, [this] {
      return stop_ || begun_ == order_.size() || (begun_ - taken_ < kSlots && (ahead_ < kAhead || begun_ == taken_));
    });
    if (stop_ || begun_ == order_.size()) return;
    const Sample& sample = from_.samples[order_[begun_]];
    Slot& slot = slots_[begun_++ % kSlots];
    ahead_ += from_.bytes(sample);
    lock.unlock();
    std::exception_ptr failed;
    try {
      if (from_.store != nullptr && !objects) objects = from_.store->object_reader(from_.files.root());
      encode({from_, objects.get()}, sample, as_, slot.bytes);
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    slot.failed = failed;
    slot.ready = true;
    ready_.notify_one();
  }
}

void SampleReader::next(std::string& into) {
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[taken_ % kSlots];
  ready_.wait(lock, [&] { return slot.ready; });
  slot.ready = false;
  ahead_ -= from_.bytes(from_.samples[order_[taken_++]]);
  const std::exception_ptr failed = std::exchange(slot.failed, nullptr);
  std::swap(into, slot.bytes);
  lock.unlock();
  room_.notify_one();
  if (failed) std::rethrow_exception(failed);
}

}  // namespace headrace::pack
