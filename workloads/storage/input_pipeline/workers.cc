#include "workloads/storage/input_pipeline/workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::input_pipeline {
namespace {

using Stage = PipelineTrace::Stage;
constexpr std::size_t kTracedSpans = 400'000;  // that a trace has room for

}  // namespace

void Workers::before_phase(std::uint64_t seed, bool traced) {
  collect_bad();
  set_.decoding.begin(seed + inputs_.team_index());
  tallies_.assign(set_.io.workers, {});
  spans_.clear();
  for (unsigned i = 0; i < set_.io.workers; ++i) spans_.emplace_back(traced ? kTracedSpans / set_.io.workers : 0);
}

void Workers::run(Worker& worker, Pipeline& pipeline) noexcept {
  Tally tally;
  read_batches(worker, pipeline, tally);
  inputs_.source(worker.index).detach();
  tally.held = inputs_.held(worker.index);
  tallies_[worker.index] = tally;
}

Tally Workers::tally() const {
  Tally all;
  for (const Tally& t : tallies_) {
    all.reading_ns += t.reading_ns;
    all.decoding_ns += t.decoding_ns;
    all.waiting_ns += t.waiting_ns;
    all.samples += t.samples;
    all.held += t.held;
    all.longest_ns = std::max(all.longest_ns, t.longest_ns);
    all.stalls.add(t.stalls);
  }
  return all;
}

std::uint64_t Workers::passed_over() const {
  std::uint64_t bad = set_.decoding.bad();
  for (const Tally& t : tallies_) bad += t.bad.count();
  return bad;
}

void Workers::report(std::vector<std::string>& notes) {
  collect_bad();
  const FileTable* files = inputs_.files();
  set_.decoding.report(files, notes);
  set_.groups.report(notes);
  if (files != nullptr && !set_.groups.active()) bad_.report(*files, notes);
  double read = 0, decoded = 0;
  for (const Tally& t : tallies_) read += static_cast<double>(t.samples), decoded += static_cast<double>(t.decoded);
  if (decoded > 0 && std::abs(decoded / read / set_.samples_per_file - 1) > 0.1)
    notes.push_back(
        fmt::format("files hold {:.3g} samples each on average that can be decoded, not {:.6g} "
                    "(samples_per_file), which rates count",
                    decoded / read, set_.samples_per_file));
  stalls_.report(files, notes);
  stalls_ = {};
}

void Workers::collect_bad() {
  for (Tally& t : tallies_) {
    bad_.add(t.bad);
    stalls_.add(t.stalls);
    t.bad = {};
    t.stalls = {};
  }
}

bool Workers::decode(unsigned worker, SampleRead& done) noexcept {
  std::uint64_t offset = done.data_offset;
  const std::uint32_t file = done.data_file.value_or(done.file);
  if (set_.decoding.run(worker, done.data, file, offset)) return true;
  const formats::Flaw other = set_.decoding.images() ? formats::other_image(done.data) : formats::Flaw::none;
  done.error = {.code = OperationError::kBadSample,
                .file = file,
                .offset = offset,
                .part = kDecode,
                .flaw = static_cast<std::uint8_t>(other != formats::Flaw::none ? other : formats::Flaw::undecodable)};
  return false;
}

bool Workers::decode_several(unsigned worker, SampleRead& done, Tally& tally) noexcept {
  FileSamples& samples = *inputs_.several(worker);
  samples.begin(done.data, inputs_.files()->name(done.file));
  const std::uint32_t file = done.file;
  bool some = false;
  formats::Flaw flaw;
  for (std::uint64_t offset = 0; samples.next(flaw, offset);) {
    SampleRead one = done;
    one.data = samples.bytes();
    one.data_offset = offset;
    if (flaw == formats::Flaw::none && decode(worker, one)) {
      some = true;
      ++tally.decoded;
      continue;
    }
    if (flaw != formats::Flaw::none) {
      one.error = {.code = OperationError::kBadSample,
                   .file = file,
                   .offset = offset,
                   .part = kDecode,
                   .flaw = static_cast<std::uint8_t>(flaw)};
      tally.bad.add(one.error);
    }
    done.error = one.error;
    if (!set_.passes_over_bad) return false;
  }
  if (some) done.error = {};
  return some;
}

void Workers::add_bad(Tally& tally, const OperationError& error) const noexcept {
  const auto flaw = static_cast<formats::Flaw>(error.flaw);
  const bool of_shard = rest_is_lost(flaw) || flaw == formats::Flaw::no_sample;
  tally.bad.add(error, !of_shard || !inputs_.shards().describe(error.file));
}

void Workers::read_batches(Worker& worker, Pipeline& pipeline, Tally& tally) noexcept {
  Recorder& recorder = worker.recorder;
  SampleSource& source = inputs_.source(worker.index);
  const bool several = inputs_.several(worker.index) != nullptr;
  const std::uint64_t per_batch = set_.operations_at_once();
  const double decode_ns = 1e9 * set_.cpu_time_s * set_.samples_per_operation(), mean_bytes = inputs_.mean_file_bytes();
  pipeline::SpanLog& spans = spans_[worker.index];
  const double held = set_.decodes_what_is_read() ? 1 : std::max(1.0, std::round(set_.samples_per_operation()));
  const auto decodes = set_.decoding.active() ? static_cast<unsigned>(held) : 0u;
  const auto stalled_ns = static_cast<std::uint64_t>(1e9 * set_.stalled_after_s);
  std::uint64_t now = now_ns();
  for (std::uint64_t batch = 0; source.has(batch); ++batch) {
    const bool goes_on = pipeline.begin(worker.index, recorder);
    const std::uint64_t begun = now_ns();
    tally.waiting_ns += begun - now;
    spans.add(Stage::waiting, now, begun, batch, 0);
    now = begun;
    if (!goes_on) return;
    bool whole = false;
    std::uint64_t bytes = 0;  // read for samples that cannot be used
    for (std::uint64_t i = 0; i < per_batch;) {
      SampleRead done = source.read(batch, i);
      const std::uint64_t came = std::max(now, done.end_ns);  // of those in flight some have come before
      const std::uint64_t took = came - now;
      tally.reading_ns += took;
      tally.longest_ns = std::max(tally.longest_ns, took);
      if (took > stalled_ns)
        tally.stalls.add({.ns = took,
                          .begin_ns = now - recorder.started_ns(),
                          .offset = done.offset,
                          .file = done.file,
                          .worker = worker.index});
      spans.add(Stage::reading, now, came, batch, i);
      now = came;
      if (done.held) {
        recorder.came(now, done.bytes);
        if (pipeline.over()) return;
        continue;
      }
      bytes += done.bytes;
      if (done.over) break;
      const bool parsed = done.error.code == 0, own = parsed && source.decodes();
      if (parsed && decodes > 0 && several) {
        decode_several(worker.index, done, tally);
      } else if (parsed && decodes > 0) {
        // A sample in memory replaces each sample of a file.
        for (unsigned k = 0; k < decodes && decode(worker.index, done); ++k) {
        }
      } else if (own) {
        source.decode(done);
      } else if (parsed) {
        // Larger files take longer, as decoders do: workers that all took the same would stay in step with each other.
        const double ns = mean_bytes > 0 ? decode_ns * static_cast<double>(done.bytes) / mean_bytes : decode_ns;
        pipeline::burn(static_cast<std::uint64_t>(std::llround(ns)));
      }
      if (parsed && (decodes > 0 || decode_ns > 0 || own)) {
        const std::uint64_t decoded = now_ns();
        recorder.part(kDecode, decoded - now);
        tally.decoding_ns += decoded - now;
        spans.add(Stage::decoding, now, decoded, batch, i);
        now = decoded;
      }
      const bool bad = done.error.code == OperationError::kBadSample;
      if (done.error.code != 0 && !(bad && set_.passes_over_bad)) recorder.fail(done.error, now);
      if (bad && (!parsed || set_.passes_over_bad)) {
        if (!parsed || own) add_bad(tally, done.error);
        recorder.extend(now);
        source.pass_over();
        if (pipeline.over()) return;
        continue;
      }
      if (done.error.code == 0) recorder.op(done.begin_ns, done.end_ns, std::exchange(bytes, 0));
      ++i;
      whole = i == per_batch;
      ++tally.samples;
      if (pipeline.over()) return;
    }
    if (!whole) break;
    pipeline.ready(worker.index);
  }
  pipeline.end(worker.index);
}

}  // namespace headrace::input_pipeline
