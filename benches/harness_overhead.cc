// The cost of headrace itself: ns per operation of the recorder and the order of reads. Also the hot loop, and one
// request through each engine. Build the target harness_overhead and run it on a quiet machine.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "harness/backends/loader.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/random.h"
#include "harness/record/recorder.h"
#include "harness/workload/data/block_loop.h"
#include "harness/workload/data/pipeline/span_log.h"

namespace {
using namespace headrace;

constexpr std::uint32_t kBlock = 4096;

void clock_read(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(now_ns());
}
BENCHMARK(clock_read);

void histogram_add(benchmark::State& state) {
  Histogram histogram;
  Random random(1);
  for (auto _ : state) {
    histogram.add(random.next() >> 44);  // up to 1 ms
    benchmark::ClobberMemory();
  }
  benchmark::DoNotOptimize(histogram);
}
BENCHMARK(histogram_add);

/// All that recording one operation costs, without the two clock reads.
void recorder_op(benchmark::State& state) {
  Recorder recorder(3);
  const std::atomic<bool> stop{false};
  recorder.start(UINT64_MAX, &stop);
  Random random(1);
  std::uint64_t now = now_ns();
  for (auto _ : state) {
    const std::uint64_t begin = now;
    now += random.next() >> 50;  // up to 16 us
    recorder.op(begin, now, kBlock);
    benchmark::DoNotOptimize(recorder.running());
  }
}
BENCHMARK(recorder_op);

/// The cost of a trace for each stage of a sample: preallocated room, untouched by this processor before.
void span_add(benchmark::State& state) {
  constexpr std::size_t kSpans = 400'000;
  std::uint64_t now = now_ns(), batch = 0;
  for (auto _ : state) {
    state.PauseTiming();
    pipeline::SpanLog spans(kSpans);
    state.ResumeTiming();
    for (std::size_t i = 0; i < kSpans; ++i) {
      spans.add(pipeline::SpanLog::Stage::reading, now, now + 5000, batch, i % 32);
      now += 5000;
      batch += i % 32 == 0;
      benchmark::ClobberMemory();
    }
    benchmark::DoNotOptimize(spans);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kSpans));
}
BENCHMARK(span_add)->Unit(benchmark::kMillisecond);

void random_order(benchmark::State& state) {
  const RandomOrder order(static_cast<std::uint64_t>(state.range(0)), 1);
  std::uint64_t step = 0, place = 0;
  for (auto _ : state) {
    while (!order.at(step++, place)) {
    }
    benchmark::DoNotOptimize(place);
  }
}
BENCHMARK(random_order)->Arg(1 << 20)->Arg((1 << 20) + 1);

/// Reads nothing, at once.
class NullReader final : public BlockReader {
 public:
  std::span<const BlockCompletion> exchange(std::span<const BlockRequest> requests, unsigned) override {
    if (requests.empty()) return {};
    const BlockRequest& r = requests.front();
    const std::uint64_t now = now_ns();
    done_ = {r.file, r.slot, r.offset, r.length, now, now_ns()};
    return {&done_, 1};
  }
  unsigned char* data(std::uint32_t) override { return nullptr; }

 private:
  BlockCompletion done_;
};

benchmark::Counter per_operation(const benchmark::State& state, std::uint64_t operations) {
  return {static_cast<double>(operations) * static_cast<double>(state.iterations()),
          benchmark::Counter::kIsRate | benchmark::Counter::kInvert};
}

/// One operation of the hot loop: choose, ask, record, with `reader` and `depth` in flight.
void loop(benchmark::State& state, BlockReader& reader, std::uint32_t depth, std::uint32_t block) {
  constexpr std::uint64_t kBlocks = 16'384;
  constexpr std::uint64_t kReads = 200'000;
  BlockLoop loop(depth);
  Recorder recorder;
  const std::atomic<bool> stop{false};
  const RandomOrder order(kBlocks, 1);
  recorder.start(UINT64_MAX, &stop);
  for (auto _ : state) {
    reader.attach();
    std::uint64_t step = 0, place = 0;
    loop.run(
        reader,
        [&](BlockRequest& request) {
          if (step == kReads || !recorder.running() || !order.at(step++ % kBlocks, place)) return false;
          request.offset = place * block;
          request.length = block;
          return true;
        },
        [&](const BlockCompletion& completion) { record_block(completion, block, 0, recorder); });
  }
  state.counters["per_op"] = per_operation(state, kReads);
  if (recorder.errors()) state.SkipWithError("a read failed");
}

void loop_without_io(benchmark::State& state) {
  NullReader reader;
  loop(state, reader, 1, kBlock);
}
BENCHMARK(loop_without_io)->Unit(benchmark::kMillisecond);

/// One request through each engine, with nothing behind it. /dev/zero has no storage and no cache, and copying 512
/// bytes costs almost nothing. The rest is the engine, its system calls and the hot loop.
constexpr std::uint32_t kNullBlock = 512;

FileTable null_device(std::uint64_t size) {
  FileTable files(::open("/dev", O_RDONLY | O_DIRECTORY), "/dev");
  files.add("zero", size);
  return files;
}

void engine_null_block(benchmark::State& state, const char* name, std::uint32_t depth) {
  Backends backends;
  if (const std::string why = backends.why_not(name); !why.empty()) return state.SkipWithError(why.c_str());
  const FileTable files = null_device(std::uint64_t{1} << 30);
  const std::uint32_t selected[] = {0};
  const ReaderOptions options{.queue_depth = depth, .block_size = kNullBlock};
  const auto reader = backends.storage(name).block_reader(files, selected, options);
  loop(state, *reader, depth, kNullBlock);
}
BENCHMARK_CAPTURE(engine_null_block, posix, "posix", 1u)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine_null_block, io_uring_1, "io_uring", 1u)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine_null_block, io_uring_2, "io_uring", 2u)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine_null_block, io_uring_32, "io_uring", 32u)->Unit(benchmark::kMillisecond);

/// The same for whole files: open, read, close.
void engine_null_file(benchmark::State& state, const char* name, std::uint32_t depth) {
  constexpr std::uint64_t kFiles = 50'000;
  Backends backends;
  if (const std::string why = backends.why_not(name); !why.empty()) return state.SkipWithError(why.c_str());
  const FileTable files = null_device(kNullBlock);
  const ReaderOptions options{.queue_depth = depth, .block_size = kNullBlock};
  const auto reader = backends.storage(name).whole_file_reader(files, options);
  const std::vector<std::uint32_t> wanted(depth, 0);
  for (auto _ : state) {
    reader->attach();
    std::uint64_t asked = 0, done = 0;
    while (done < kFiles) {
      const auto more = std::min<std::uint64_t>(reader->free_slots(), kFiles - asked);
      for (const FileCompletion& file : reader->exchange(std::span(wanted).first(more), 1)) {
        if (file.error) return state.SkipWithError("a read failed");
        ++done;
      }
      asked += more;
    }
  }
  state.counters["per_op"] = per_operation(state, kFiles);
}
BENCHMARK_CAPTURE(engine_null_file, posix, "posix", 1u)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine_null_file, io_uring_1, "io_uring", 1u)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine_null_file, io_uring_8, "io_uring", 8u)->Unit(benchmark::kMillisecond);

/// 4 KiB blocks of a 64 MiB file in the page cache.
void engine_block(benchmark::State& state, const char* name, std::uint32_t depth) {
  Backends backends;
  if (const std::string why = backends.why_not(name); !why.empty()) return state.SkipWithError(why.c_str());
  const MarkedFolder folder = MarkedFolder::make_next("/tmp/headrace-overhead", "overhead");
  const std::string data(64 << 20, 'x');
  folder.write("data", data);
  FileTable files(folder.folder().again().release().release(), folder.path());
  files.add("data", data.size());
  {
    const std::uint32_t selected[] = {0};
    ReaderOptions options;
    options.queue_depth = depth;
    options.block_size = kBlock;
    options.advice = Advice::random;
    const auto reader = backends.storage(name).block_reader(files, selected, options);
    loop(state, *reader, depth, kBlock);
  }
  folder.remove();
}
BENCHMARK_CAPTURE(engine_block, posix, "posix", 1u)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine_block, mmap, "mmap", 1u)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine_block, io_uring_1, "io_uring", 1u)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine_block, io_uring_32, "io_uring", 32u)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
