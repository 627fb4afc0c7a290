// Compares read bytes with the right content of each block, and reports where a wrong block belongs.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <tuple>

#include "harness/base/error.h"
#include "harness/base/parallel.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/data/data_set/block_pattern.h"
#include "harness/workload/data/data_set/sample_files.h"
#include "harness/workload/data/opened_file.h"

namespace headrace {
namespace {

constexpr std::uint64_t kSector = 512;
constexpr std::uint64_t kChunk = 1 << 20;

bool all_zero(const unsigned char* data, std::uint64_t length) {
  return std::all_of(data, data + length, [](unsigned char byte) { return byte == 0; });
}

/// The fault of `found`, a block (or the part of one, from its start) that differs from `right`.
std::string diagnose(const FileTable& files, const BlockLabel& right, const unsigned char* found,
                     std::uint64_t length) {
  if (all_zero(found, length)) return "all zero";
  unsigned char expected[kBlock];
  const auto label = length >= kLabelBytes ? read_label(found) : std::nullopt;
  if (label && *label != right) {
    fill_block(*label, expected);
    const bool whole = std::memcmp(expected, found, length) == 0;
    if (label->data_set != right.data_set)
      return whole ? "stale: holds a block of another data set" : "torn: starts as a block of another data set";
    const std::string file = label->file < files.count() ? files.path(static_cast<std::uint32_t>(label->file))
                                                         : fmt::format("file {}", label->file);
    return fmt::format("{} block {} of {}", whole ? "holds" : "torn: starts as", label->block, file);
  }
  fill_block(right, expected);
  std::uint64_t wrong = 0, zero = 0, sectors = 0;
  for (std::uint64_t at = 0; at < length; at += kSector, ++sectors) {
    const std::uint64_t part = std::min(kSector, length - at);
    if (std::memcmp(expected + at, found + at, part) == 0) continue;
    ++wrong;
    if (all_zero(found + at, part)) ++zero;
  }
  if (wrong == sectors) return "holds something that headrace did not write";
  return fmt::format("torn: {} of {} sectors are wrong{}", wrong, sectors, zero == wrong ? " (zero)" : "");
}

}  // namespace

bool DataSet::check(std::uint32_t file, std::uint64_t offset, const unsigned char* data, std::uint64_t length,
                    WrongBlock* wrong) const {
  unsigned char expected[kBlock];
  while (length > 0) {
    const BlockLabel label{key_, file, offset / kBlock};
    const std::uint64_t inside = offset % kBlock, part = std::min(kBlock - inside, length);
    fill_block(label, expected);
    if (std::memcmp(expected + inside, data, part) != 0) {
      if (wrong != nullptr) {
        *wrong = {files_.full_path(file), offset,
                  inside == 0 ? diagnose(files_, label, data, part) : "differs from the written data"};
      }
      return false;
    }
    offset += part;
    data += part;
    length -= part;
  }
  return true;
}

namespace {

/// `place` of `opened`; the fault that `check` finds in its bytes.
std::optional<WrongBlock> wrong_place(OpenedFile& opened, const std::string& path, const SamplePlace& place,
                                      std::vector<unsigned char>& buffer, auto&& check) {
  buffer.resize(place.size);
  for (std::uint64_t at = 0; at < place.size;) {
    const std::int64_t got = opened.read(place.offset + at, buffer.data() + at, place.size - at);
    if (got < 0) return WrongBlock{path, place.offset + at, opened.why()};
    if (got == 0) return WrongBlock{path, place.offset + at, "the file ends here"};
    at += static_cast<std::uint64_t>(got);
  }
  std::string why = check(buffer);
  if (why.empty()) return std::nullopt;
  return WrongBlock{path, place.offset, std::move(why)};
}

}  // namespace

std::optional<WrongBlock> DataSet::wrong_sample(std::uint32_t file, std::uint64_t number) const {
  const DataSetLayout layout(spec_);
  const SampleFile made(layout, file);
  const std::string path = files_.full_path(file);
  OpenedFile from = opened(file, POSIX_FADV_RANDOM);  // no more than this sample comes into memory
  if (!from.is_open()) return WrongBlock{path, 0, from.why()};
  number %= made.count();
  std::vector<unsigned char> buffer;
  return wrong_place(from, path, made.place(number), buffer,
                     [&](const std::vector<unsigned char>& bytes) { return made.wrong(number, bytes); });
}

std::vector<WrongBlock> DataSet::wrong_samples(std::uint32_t file, std::vector<unsigned char>& buffer) const {
  std::vector<WrongBlock> wrong;
  const DataSetLayout layout(spec_);
  const SampleFile made(layout, file);
  const std::string path = files_.full_path(file);
  OpenedFile from = opened(file, POSIX_FADV_DONTNEED);
  if (!from.is_open()) return {{path, 0, from.why()}};
  for (std::uint64_t i = 0, at = 0; i <= made.count(); ++i) {
    const std::string between = made.before(i);
    if (auto found = wrong_place(from, path, {at, between.size()}, buffer, [&](const std::vector<unsigned char>& b) {
          return std::memcmp(b.data(), between.data(), b.size()) == 0 ? std::string()
                                                                      : "a header of the shard is wrong";
        }))
      wrong.push_back(std::move(*found));
    if (i == made.count()) break;
    const SamplePlace place = made.place(i);
    if (auto found = wrong_place(from, path, place, buffer,
                                 [&](const std::vector<unsigned char>& b) { return made.wrong(i, b); }))
      wrong.push_back(std::move(*found));
    at = place.offset + place.size;
  }
  return wrong;
}

std::vector<WrongBlock> DataSet::verify(const DataProgress& progress, std::size_t most) const {
  std::vector<WrongBlock> wrong;
  if (!generated_) return wrong;
  std::mutex mutex;
  std::atomic<std::uint64_t> done{0};
  const auto report = [&](WrongBlock block) {
    const std::lock_guard lock(mutex);
    if (wrong.size() < most) wrong.push_back(std::move(block));
  };
  const auto check_file = [&](std::uint32_t file, std::vector<unsigned char>& buffer) {
    if (holds_samples()) {
      for (WrongBlock& block : wrong_samples(file, buffer)) report(std::move(block));
      done.fetch_add(files_.size(file), std::memory_order_relaxed);
      return;
    }
    // The storage's content is checked, not the cache's.
    OpenedFile from = opened(file, POSIX_FADV_DONTNEED);
    if (!from.is_open()) return report({files_.full_path(file), 0, from.why()});
    for (std::uint64_t at = 0; at < files_.size(file);) {
      const std::uint64_t want = std::min(kChunk, files_.size(file) - at);
      const std::int64_t got = from.read(at, buffer.data(), want);
      if (got < 0) return report({files_.full_path(file), at, from.why()});
      if (got == 0) return report({files_.full_path(file), at, "the file ends here"});
      // Block by block, so that every wrong one is named.
      for (std::uint64_t part = 0, length; part < static_cast<std::uint64_t>(got); part += length) {
        length = std::min(kBlock - (at + part) % kBlock, static_cast<std::uint64_t>(got) - part);
        WrongBlock block;
        if (!check(file, at + part, buffer.data() + part, length, &block)) report(std::move(block));
      }
      at += static_cast<std::uint64_t>(got);
      done.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
    }
  };
  std::vector<std::vector<unsigned char>> buffers(std::clamp(threads_, 1u, 16u));
  parallel_for(
      files_.count(), static_cast<unsigned>(buffers.size()),
      [&](unsigned worker, std::uint64_t file) {
        buffers[worker].resize(kChunk);
        check_file(static_cast<std::uint32_t>(file), buffers[worker]);
      },
      [&] {
        if (progress) progress(done.load(), files_.total_bytes(), "verifying");
      });
  std::sort(wrong.begin(), wrong.end(), [](const WrongBlock& a, const WrongBlock& b) {
    return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
  });
  return wrong;
}

}  // namespace headrace
