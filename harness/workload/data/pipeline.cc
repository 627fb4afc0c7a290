#include "harness/workload/data/pipeline.h"

#include <algorithm>
#include <utility>

#include "harness/base/clock.h"

namespace headrace {
namespace {

constexpr std::uint64_t kStall = 1'000'000'000;      // [ns] a wait that is reported although its step never ended
constexpr std::uint64_t kPipelineLook = 20'000'000;  // between two looks whether to stop [ns]
constexpr std::uint64_t kCopyLook = 20'000;          // between two looks whether a batch has arrived [ns]

}  // namespace

using pipeline::BatchQueue;

Pipeline::Pipeline(const Shape& shape, pipeline::SavesInLoop* saves, pipeline::StepBarrier* others,
                   pipeline::BatchCopies* copies)
    : shape_(shape),
      saves_(saves),
      others_(others),
      copies_(copies),
      copied_ns_(shape.gpus),
      account_(shape.compute_ns * shape.batches_per_step),
      steps_(shape.kept_steps) {
  for (unsigned i = 0; i < shape.gpus; ++i) {
    if (shape.taking_ns > 0)
      processes_.push_back(std::make_unique<pipeline::TrainingProcess>(shape.taking_ns, gpus_bell_));
    queues_.push_back(std::make_unique<BatchQueue>(
        BatchQueue::Shape{.workers = shape.workers, .ahead = shape.ahead, .order = shape.order, .pieces = shape.pieces},
        processes_.empty() ? gpus_bell_ : processes_.back()->bell()));
  }
}

bool Pipeline::begin_now(unsigned number) noexcept {
  BatchQueue& own = queue(number);
  const unsigned index = number / shape_.gpus;
  if (!own.may_begin(index)) return false;
  own.begin(index);
  return true;
}

bool Pipeline::begin(unsigned number, const Recorder& recorder) noexcept {
  while (!over() && recorder.running()) {
    if (begin_now(number)) return true;
    queue(number).wait(number / shape_.gpus, kPipelineLook);
  }
  return false;
}

void Pipeline::take_batches(unsigned gpu, const Recorder& recorder) noexcept {
  processes_[gpu]->run(*queues_[gpu], [&] { return over() || !recorder.running(); });
}

double Pipeline::taking_share() const noexcept {
  double busy = 0;
  for (const auto& one : processes_) busy += one->busy_share();
  return processes_.empty() ? 0 : busy / static_cast<double>(processes_.size());
}

std::uint64_t Pipeline::settling() const noexcept {
  const std::uint64_t step = shape_.batches_per_step * shape_.pieces;
  return (shape_.workers * (1 + shape_.growing) + step - 1) / step;
}

double Pipeline::share_ready() const noexcept {
  double ready = 0, all = 0;
  for (const auto& one : queues_) {
    ready += one->waiting();
    all += one->capacity();
  }
  return ready / all;
}

Pipeline::Had Pipeline::next_batch(std::size_t gpu, std::uint64_t& ready_ns, std::uint64_t& copy_ns) noexcept {
  copy_ns = 0;
  if (copied_ns_[gpu] == 0) {
    const BatchQueue::Taken taken = processes_.empty() ? queues_[gpu]->take(ready_ns) : processes_[gpu]->take(ready_ns);
    if (taken == BatchQueue::Taken::over) return Had::over;
    if (taken == BatchQueue::Taken::not_yet) return Had::none;
    if (copies_ == nullptr) return Had::batch;
    copied_ns_[gpu] = ready_ns;
    copies_->begin(gpu);
  }
  const std::optional<std::uint64_t> took = copies_->arrived(gpu);
  if (!took) return Had::copying;
  ready_ns = std::exchange(copied_ns_[gpu], 0);
  copy_ns = *took;
  return Had::batch;
}

Pipeline::Given Pipeline::give(pipeline::StepClock& clock, std::uint64_t now, std::uint64_t& next_ns,
                               bool& starved) noexcept {
  Given given = Given::none;
  for (std::size_t gpu = 0; gpu < queues_.size(); ++gpu) {
    if (!clock.wants(gpu)) continue;
    if (clock.free_ns(gpu) > now) {
      next_ns = std::min(next_ns, clock.free_ns(gpu));
      continue;
    }
    std::uint64_t ready_ns = 0, copy_ns = 0;
    switch (next_batch(gpu, ready_ns, copy_ns)) {
      case Had::over:
        return Given::over;
      case Had::none:
        starved = true;
        break;
      case Had::copying:
        next_ns = std::min(next_ns, now + kCopyLook);
        break;
      case Had::batch:
        clock.take(gpu, ready_ns, now, copy_ns);
        given = Given::some;
        break;
    }
  }
  return given;
}

bool Pipeline::end_together(pipeline::StepClock& clock, pipeline::StepClock::Step& step,
                            const Recorder& recorder) noexcept {
  if (others_ == nullptr) return true;
  const pipeline::StepBarrier::End all = others_->meet(step.end_ns, recorder);
  if (all.over) return false;
  step.others_ns = all.end_ns - step.end_ns;
  step.end_ns = all.end_ns;
  clock.start(step.end_ns);
  return true;
}

void Pipeline::train(Recorder& recorder, unsigned first_part) noexcept {
  pipeline::StepClock clock(shape_.gpus, shape_.batches_per_step, shape_.compute_ns);
  const bool together = others_ == nullptr || others_->begin(recorder);
  clock.start(now_ns());
  std::uint64_t step_end_ns = 0;  // of the step before, not woken from yet; 0 = none
  std::uint64_t late_ns = 0;
  double ready = share_ready();
  while (together && recorder.running()) {
    const std::uint32_t looked = gpus_bell_.look();
    std::uint64_t now = now_ns();
    if (step_end_ns != 0 && now >= step_end_ns) {
      if (saves_ != nullptr && saves_->due(account_.steps())) {
        now = saves_->save(recorder);
        account_.stand(now - step_end_ns);
        steps_.stand(now - step_end_ns);
        clock.start(now);
        recorder.extend(now);
        step_end_ns = now;
      }
      late_ns = now - step_end_ns;
      step_end_ns = 0;
      ready = share_ready();
    }
    std::uint64_t next_ns = now + kPipelineLook;
    bool starved = false;
    const Given given = give(clock, now, next_ns, starved);
    if (given == Given::over) {
      out_of_data_ = true;
      break;
    }
    if (clock.full()) {
      pipeline::StepClock::Step step = clock.end();
      if (!end_together(clock, step, recorder)) break;
      now = now_ns();
      recorder.part(first_part + kWait, step.wait_ns);
      recorder.part(first_part + kStep, step.end_ns - step.begin_ns);
      recorder.part(first_part + kLate, late_ns);
      account_.add(step, late_ns, ready);
      steps_.add(step, ready);
      recorder.extend(std::min(step.end_ns, now));
      step_end_ns = step.end_ns;
      late_ns = 0;
      next_ns = std::min(step.end_ns, now + kPipelineLook);
    } else if (given == Given::some) {
      continue;
    } else if (starved) {
      gpus_bell_.wait(looked, next_ns - now);
      continue;
    }
    gpus_bell_.leave();
    sleep_until(next_ns);
  }
  gpus_bell_.leave();
  // The part cut off at the end is as good as the rest. But not where a storage stall keeps the step from ending.
  if (const std::uint64_t starved_ns = clock.starved_ns(now_ns()); together && !out_of_data_ && starved_ns > kStall) {
    recorder.part(first_part + kWait, starved_ns);
    account_.starved(starved_ns);
  }
  if (others_ != nullptr) others_->leave();
  recorder.extend(now_ns());
  over_.store(true);
  if (saves_ != nullptr) saves_->end();
  for (const auto& one : queues_) one->close();
}

}  // namespace headrace
