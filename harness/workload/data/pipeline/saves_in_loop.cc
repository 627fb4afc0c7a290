#include "harness/workload/data/pipeline/saves_in_loop.h"

#include "harness/base/clock.h"
#include "harness/base/futex.h"

namespace headrace::pipeline {
namespace {

constexpr std::uint64_t kLook = 20'000'000;  // between two looks whether to stop [ns]

}  // namespace

bool SavesInLoop::wait_for(const std::atomic<unsigned>& none_left, const Recorder& recorder) noexcept {
  while (true) {
    const std::uint32_t looked = gpus_.look();
    const bool there = none_left.load() == 0;
    if (there || !recorder.running() || now_ns() >= recorder.deadline_ns() || failed_.load()) {
      gpus_.leave();
      return there;
    }
    gpus_.wait(looked, kLook);
  }
}

std::uint64_t SavesInLoop::save(const Recorder& recorder) noexcept {
  if (!wait_for(busy_, recorder)) return now_ns();
  const unsigned ranks = saver_.params().ranks;
  copying_ = writing_ = busy_ = ranks;
  cut_ = false;
  begun_ns_ = now_ns();
  asked_.fetch_add(1);
  for (unsigned rank = 0; rank < saver_.params().ranks; ++rank) futex_wake(asked_);
  wait_for(saver_.params().async ? copying_ : writing_, recorder);
  return now_ns();
}

void SavesInLoop::end() noexcept {
  over_ = true;
  asked_.fetch_add(1);
  for (unsigned rank = 0; rank < saver_.params().ranks; ++rank) futex_wake(asked_);
}

void SavesInLoop::staged() noexcept {
  if (copying_.fetch_sub(1) == 1) gpus_.ring();
}

void SavesInLoop::finished(bool whole) noexcept {
  if (!whole) cut_ = true;
  if (writing_.fetch_sub(1) == 1) {
    if (!cut_.load()) {
      ++done_;
      done_ns_ += now_ns() - begun_ns_;
    }
    gpus_.ring();
    saver_.again();
  }
  if (busy_.fetch_sub(1) == 1) gpus_.ring();
}

void SavesInLoop::run(unsigned rank, Recorder& recorder) {
  std::uint32_t seen = 0;
  while (true) {
    while (asked_.load() == seen) futex_wait(asked_, seen, kLook);
    ++seen;
    if (over_.load()) return;
    try {
      finished(saver_.save(rank, recorder, this).durable_ns != 0);
    } catch (...) {
      failed_ = true;
      gpus_.ring();
      throw;
    }
  }
}

}  // namespace headrace::pipeline
