// Makes a data set's files.
#include "harness/data_set/generate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "harness/data_set/block_pattern.h"
#include "harness/data_set/manifest.h"
#include "harness/data_set/writer.h"
#include "harness/error.h"
#include "harness/node.h"
#include "harness/parallel.h"
#include "harness/units.h"

namespace headrace {
namespace {

/// Size of a regular file; -1 = not there or not a regular file.
std::int64_t size_of(int root, const std::string& path) {
  struct stat status;
  if (::fstatat(root, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
    return -1;
  return status.st_size;
}

/// More than there are cores: direct writes wait for the storage.
unsigned threads_for(const Node& node) { return std::clamp(node.cores(), 8u, 32u); }

/// The files that are not there with their full size.
std::vector<std::uint64_t> missing_files(const DataSetLayout& layout, int root, const Node& node) {
  constexpr std::uint64_t kBatch = 1024;
  const std::uint64_t files = layout.files(), batches = (files + kBatch - 1) / kBatch;
  std::vector<std::vector<std::uint64_t>> missing(batches);
  parallel_for(batches, threads_for(node), [&](unsigned, std::uint64_t batch) {
    const std::uint64_t end = std::min(files, (batch + 1) * kBatch);
    for (std::uint64_t file = batch * kBatch; file < end; ++file)
      if (size_of(root, layout.path(file)) != static_cast<std::int64_t>(layout.size(file)))
        missing[batch].push_back(file);
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
  if (layout.spec().file_size_spread == 0)
    return layout.files() * whole_blocks(layout.spec().file_size);
  std::uint64_t needed = 0;
  for (std::uint64_t file = 0; file < layout.files(); ++file)
    needed += whole_blocks(layout.size(file));
  return needed;
}

void check_space(std::uint64_t needed, const DataSetLayout& layout, const std::string& folder,
                 const Node& node) {
  needed += layout.folders() * kBlock;
  const auto bytes = [](std::uint64_t value) {
    return format_quantity(static_cast<double>(value), Dimension::bytes);
  };
  const std::uint64_t free = node.free_bytes(folder);
  if (needed > free)
    throw RunError(fmt::format("{}: the data set needs {}; only {} are free", folder, bytes(needed),
                               bytes(free)));
}

void make_folders(const DataSetLayout& layout, int root, const std::string& folder) {
  for (std::uint64_t number = 0; number < layout.folders(); ++number) {
    const std::string name = layout.folder(number);
    struct stat status;
    if (::mkdirat(root, name.c_str(), 0755) != 0 && errno != EEXIST)
      throw system_error("create folder", folder + "/" + name, errno);
    if (::fstatat(root, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISDIR(status.st_mode))
      throw RunError("create folder " + folder + "/" + name + ": something else is in the way");
  }
}

/// After a failure: the files of `made` go, so that a full disk is not left full, and the folder
/// too when nothing else is in it. What cannot go stays.
void take_back(const DataSetLayout& layout, int root, const std::string& folder,
               const std::vector<std::uint64_t>& made) {
  std::atomic<std::uint64_t> unused{0};
  FileWriter writer(layout, root, folder, unused);
  for (const std::uint64_t file : made) writer.take_back(file);
  bool empty = true;
  for (std::uint64_t number = layout.folders(); number-- > 0;)
    if (::unlinkat(root, layout.folder(number).c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
      empty = false;
  constexpr std::string_view kOwn[] = {Manifest::kFile, Manifest::kUnfinished};
  if (empty) remove_marked(folder, kOwn);
}

}  // namespace

bool is_complete(const DataSetLayout& layout, int root, const Node& node) {
  const auto manifest = read_manifest(root);
  return manifest && manifest->complete && missing_files(layout, root, node).empty();
}

void generate(const DataSetLayout& layout, int root, const std::string& folder, const Node& node,
              const DataProgress& progress) {
  const auto before = read_manifest(root);
  std::vector<std::uint64_t> todo;
  if (before && before->complete) {
    todo = missing_files(layout, root, node);
    check_space(space_of(layout, todo), layout, folder, node);
  } else {
    // Cut short: a file of full size may still end in blocks that never reached the storage, so
    // each is looked at.
    const std::uint64_t needed =
        before ? space_of(layout, missing_files(layout, root, node)) : space_of(layout);
    check_space(needed, layout, folder, node);
    todo.resize(layout.files());
    for (std::uint64_t file = 0; file < layout.files(); ++file) todo[file] = file;
  }
  std::uint64_t total = 0;
  for (const std::uint64_t file : todo) total += layout.size(file);

  write_manifest(root, folder, {layout.spec(), false});
  try {
    make_folders(layout, root, folder);
    std::atomic<std::uint64_t> done{0};
    std::vector<std::unique_ptr<FileWriter>> writers(threads_for(node));
    parallel_for(
        todo.size(), threads_for(node),
        [&](unsigned worker, std::uint64_t item) {
          auto& writer = writers[worker];
          if (!writer) writer = std::make_unique<FileWriter>(layout, root, folder, done);
          writer->write(todo[item]);
        },
        [&] {
          if (progress) progress(done.load(), total, "generating");
        });
    if (::syncfs(root) != 0) throw system_error("write back", folder, errno);
  } catch (const RunError&) {
    take_back(layout, root, folder, todo);
    throw;
  }
  write_manifest(root, folder, {layout.spec(), true});
}

}  // namespace headrace
