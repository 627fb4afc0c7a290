// Makes a data set's files.
#include "harness/storage/data_set/generate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/parallel.h"
#include "harness/base/units.h"
#include "harness/files/marked_folder.h"
#include "harness/node.h"
#include "harness/storage/data_set/block_pattern.h"
#include "harness/storage/data_set/manifest.h"
#include "harness/storage/data_set/proof.h"
#include "harness/storage/data_set/writer.h"

namespace headrace {
namespace {

/// More than there are cores: direct writes wait for the storage.
unsigned threads_for(const Node& node) { return std::clamp(node.cores(), 8u, 32u); }

/// The files that are not there as a finished set has them.
std::vector<std::uint64_t> missing_files(const DataSetLayout& layout, const files::Folder& root, const Node& node) {
  constexpr std::uint64_t kBatch = 1024;
  const FileProof proof(layout, root);
  const std::uint64_t files = layout.files(), batches = (files + kBatch - 1) / kBatch;
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

/// What a file takes on the storage [B].
std::uint64_t whole_blocks(std::uint64_t size) { return (size + kBlock - 1) / kBlock * kBlock; }

std::uint64_t space_of(const DataSetLayout& layout, const std::vector<std::uint64_t>& files) {
  std::uint64_t needed = 0;
  for (const std::uint64_t file : files) needed += whole_blocks(layout.size(file));
  return needed;
}

/// All of its files; told without a look at each where all are of one size.
std::uint64_t space_of(const DataSetLayout& layout) {
  if (layout.spec().file_size_spread == 0) return layout.files() * whole_blocks(layout.spec().file_size);
  std::uint64_t needed = 0;
  for (std::uint64_t file = 0; file < layout.files(); ++file) needed += whole_blocks(layout.size(file));
  return needed;
}

void check_space(std::uint64_t needed, const DataSetLayout& layout, const std::string& folder, const Node& node) {
  needed += layout.folders() * kBlock;
  const auto bytes = [](std::uint64_t value) { return format_quantity(static_cast<double>(value), Dimension::bytes); };
  const std::uint64_t free = node.free_bytes(folder);
  if (needed > free)
    throw RunError(fmt::format("{}: the data set needs {}; only {} are free", folder, bytes(needed), bytes(free)));
}

/// After a failure: what was made goes, so that a full disk is not left full, and the folder too
/// when nothing else is in it. What cannot go stays.
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

bool is_complete(const DataSetLayout& layout, const files::Folder& root, const Node& node) {
  const auto manifest = read_manifest(root, layout.spec());
  return manifest && manifest->complete && missing_files(layout, root, node).empty();
}

void generate(const DataSetLayout& layout, const MarkedFolder& folder, const Node& node, const DataProgress& progress) {
  const files::Folder& root = folder.folder();
  const auto before = read_manifest(root, layout.spec());
  std::vector<std::uint64_t> todo;
  if (before && before->complete) {
    todo = missing_files(layout, root, node);
    check_space(space_of(layout, todo), layout, folder.path(), node);
  } else {
    // Cut short: a file of full size may still end in blocks that never reached the storage, so
    // each is looked at.
    const std::uint64_t needed = before ? space_of(layout, missing_files(layout, root, node)) : space_of(layout);
    check_space(needed, layout, folder.path(), node);
    todo.resize(layout.files());
    for (std::uint64_t file = 0; file < layout.files(); ++file) todo[file] = file;
  }
  std::uint64_t total = 0;
  for (const std::uint64_t file : todo) total += layout.size(file);

  const FileProof proof(layout, root);
  write_manifest(root, {layout.spec(), false});
  std::vector<std::unique_ptr<FileWriter>> writers(threads_for(node));
  try {
    for (std::uint64_t number = 0; number < layout.folders(); ++number) root.make(layout.folder(number));
    std::atomic<std::uint64_t> done{0};
    parallel_for(
        todo.size(), threads_for(node),
        [&](unsigned worker, std::uint64_t item) {
          auto& writer = writers[worker];
          if (!writer) writer = std::make_unique<FileWriter>(layout, proof, root, done);
          writer->write(todo[item]);
        },
        [&] {
          if (progress) progress(done.load(), total, "generating");
        });
    if (::syncfs(root.fd()) != 0) throw system_error("write back", folder.path(), errno);
  } catch (const RunError&) {
    take_back(layout, folder, writers);
    throw;
  }
  write_manifest(root, {layout.spec(), true});
}

}  // namespace headrace
