// Makes a data set's files.
#include "harness/workload/data/data_set/generate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/parallel.h"
#include "harness/base/units.h"
#include "harness/machine/node.h"
#include "harness/workload/data/data_set/block_pattern.h"
#include "harness/workload/data/data_set/making_pace.h"
#include "harness/workload/data/data_set/manifest.h"
#include "harness/workload/data/data_set/writer.h"

namespace headrace {
namespace {

/// More than there are cores: direct writes wait for the storage.
unsigned threads_for(const Node& node) { return std::clamp(node.cores(), 8u, 32u); }

std::uint64_t sample_bytes(const DataSetSpec& spec) {
  return spec.content_sample > 0 ? spec.content_sample : spec.file_size;
}
/// Samples are encoded: as many as there are cores, and no more than have room for their pixels.
unsigned encoders_for(const Node& node, const DataSetSpec& spec) {
  constexpr std::uint64_t kRoom = 1 << 30, kPixelsPerByte = 16;
  const auto most = static_cast<unsigned>(std::min<std::uint64_t>(32, kRoom / kPixelsPerByte / sample_bytes(spec)));
  return std::clamp(node.cores() + 1, 1u, std::max(1u, most));
}

/// Those of the first `files` that are not there as a finished set has them.
std::vector<std::uint64_t> missing_files(const DataSetLayout& layout, const files::Folder& root, const Node& node,
                                         std::uint64_t files) {
  constexpr std::uint64_t kBatch = 1024;
  const FileProof proof(layout, root);
  const std::uint64_t batches = (files + kBatch - 1) / kBatch;
  std::vector<std::vector<std::uint64_t>> missing(batches);
  parallel_for(batches, threads_for(node), [&](unsigned, std::uint64_t batch) {
    const std::uint64_t end = std::min(files, (batch + 1) * kBatch);
    files::Folder folder;
    for (std::uint64_t file = batch * kBatch; file < end; ++file) {
      if (!folder || file % layout.spec().files_per_folder == 0)
        folder = root.inner(layout.folder(layout.folder_of(file)));
      if (!folder || proof.look(folder, layout.name(file).c_str(), file).found != FileProof::Found::whole)
        missing[batch].push_back(file);
    }
  });
  std::vector<std::uint64_t> all;
  for (const auto& batch : missing) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

/// The size of a file on the storage [B].
std::uint64_t whole_blocks(std::uint64_t size) { return (size + kBlock - 1) / kBlock * kBlock; }

std::uint64_t space_of(const DataSetLayout& layout, const std::vector<std::uint64_t>& files) {
  std::uint64_t needed = 0;
  for (const std::uint64_t file : files) needed += whole_blocks(layout.size(file));
  return needed;
}

/// All of its files; reported without a look at each where all are of one size.
std::uint64_t space_of(const DataSetLayout& layout) {
  if (layout.spec().file_size_spread == 0) return layout.files() * whole_blocks(layout.spec().file_size);
  std::uint64_t needed = 0;
  for (std::uint64_t file = 0; file < layout.files(); ++file) needed += whole_blocks(layout.size(file));
  return needed;
}

void check_space(std::uint64_t needed, std::uint64_t needed_files, const DataSetLayout& layout,
                 const std::string& folder, const Node& node) {
  needed += layout.folders() * kBlock;
  const auto bytes = [](std::uint64_t value) { return format_quantity(static_cast<double>(value), Dimension::bytes); };
  const std::uint64_t free = node.free_bytes(folder);
  if (needed > free)
    throw RunError(fmt::format("{}: the data set needs {}; only {} are free", folder, bytes(needed), bytes(free)));
  const std::uint64_t files = needed_files + layout.folders(), inodes = node.free_inodes(folder);
  if (files > inodes)
    throw RunError(
        fmt::format("{}: the data set has {} files and folders; only {} inodes are free", folder, files, inodes));
}

/// After a failure: removes the new files, so that a full disk is not left full. An empty folder is removed, too. Files
/// that cannot be removed stay.
void take_back(const DataSetLayout& layout, const MarkedFolder& folder,
               const std::vector<std::unique_ptr<FileWriter>>& writers) {
  for (const auto& writer : writers)
    if (writer) writer->take_back();
  const files::Folder& root = folder.folder();
  for (std::uint64_t number = layout.folders(); number-- > 0;) root.remove_folder(layout.folder(number));
  const std::vector<std::string> left = root.entries();
  const bool empty = std::all_of(left.begin(), left.end(), [](const std::string& name) {
    return name == MarkedFolder::kMark || name == Manifest::kFile;
  });
  if (!empty) return;
  remove_manifest(root);
  folder.remove();
}

}  // namespace

std::uint64_t whole_files(const DataSetLayout& layout, const files::Folder& root, const Node& node) {
  const auto manifest = read_manifest(root, layout.spec());
  if (!manifest || manifest->made == 0) return 0;
  const auto missing = missing_files(layout, root, node, manifest->made);
  return missing.empty() ? manifest->made : missing.front();
}

std::uint64_t generate(const DataSetLayout& layout, const MarkedFolder& folder, const Node& node, const Codec* codec,
                       const DataProgress& progress, std::optional<double> limit_s) {
  const files::Folder& root = folder.folder();
  const auto before = read_manifest(root, layout.spec());
  std::vector<std::uint64_t> todo;
  if (before) {
    // In a set that was cut short, a full-size file may end in blocks that never reached storage. So each is looked at.
    todo = missing_files(layout, root, node, layout.files());
  } else {
    todo.resize(layout.files());
    std::iota(todo.begin(), todo.end(), 0);
  }
  const auto whole = [&](std::size_t next) { return next < todo.size() ? todo[next] : layout.files(); };
  check_space(before ? space_of(layout, todo) : space_of(layout), before ? todo.size() : layout.files(), layout,
              folder.path(), node);
  std::uint64_t total = 0;
  for (const std::uint64_t file : todo) total += layout.size(file);

  const FileProof proof(layout, root);
  write_manifest(root, {layout.spec(), false, before ? std::min(before->made, whole(0)) : 0});
  MakingPace pace(layout.spec().file_size, limit_s);
  const std::function<bool()> late = [&pace] { return pace.late(); };
  std::optional<decode::SampleMaker> maker;
  if (codec != nullptr) maker.emplace(*codec, sample_bytes(layout.spec()));
  const unsigned threads = maker ? encoders_for(node, layout.spec()) : threads_for(node);
  std::vector<std::unique_ptr<FileWriter>> writers(threads);
  std::size_t next = 0;
  try {
    for (std::uint64_t number = 0; number < layout.folders(); ++number) root.make(layout.folder(number));
    std::atomic<std::uint64_t> done{0};
    while (const std::size_t count = pace.next(todo.size() - next)) {
      std::atomic<std::size_t> end{next + count};  // the first that was given up
      parallel_for(
          count, threads,
          [&](unsigned worker, std::uint64_t item) {
            auto& writer = writers[worker];
            if (!writer)
              writer = std::make_unique<FileWriter>(layout, proof, root, done, late, maker ? &*maker : nullptr);
            const std::size_t at = next + item;
            if (!late() && writer->write(todo[at])) return;
            for (std::size_t first = end; at < first && !end.compare_exchange_weak(first, at);) {
            }
          },
          [&] {
            if (progress) progress(done.load(), total, "generating");
          });
      if (::syncfs(root.fd()) != 0) throw system_error("write back", folder.path(), errno);
      pace.made(end - next);
      next = end;
    }
  } catch (const RunError&) {
    take_back(layout, folder, writers);
    throw;
  }
  write_manifest(root, {layout.spec(), next == todo.size(), whole(next)});
  if (whole(next) == 0)
    throw Unsupported(fmt::format("not one file of {} was made in {:.1f} s: a longer --budget would do",
                                  format_quantity(static_cast<double>(layout.size(0)), Dimension::bytes), *limit_s));
  return whole(next);
}

}  // namespace headrace
