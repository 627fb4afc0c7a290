// Parameters of data sets, and opening them.
#include "harness/data_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "harness/data_set/block_pattern.h"
#include "harness/data_set/generate.h"
#include "harness/data_set/layout.h"
#include "harness/data_set/walk.h"
#include "harness/error.h"
#include "harness/node.h"
#include "harness/system/block_device.h"
#include "harness/system/unique_fd.h"

namespace headrace {
namespace {

using system::UniqueFd;

constexpr double kLargestFile = 0x1p44;  // 16 TiB, what ext4 holds

/// The descriptor of a complete data set in `folder`, which it makes first if need be. It carries a
/// shared lock for as long as it is open, so that nobody removes the set meanwhile; file systems
/// without locks do without.
UniqueFd open_generated(const DataSetLayout& layout, const std::string& folder, const Node& node,
                        const DataProgress& progress) {
  UniqueFd root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) throw system_error("open", folder, errno);
  const auto taken = [&](int how) {
    return ::flock(root.get(), how | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  };
  for (unsigned waited = 0;; ++waited) {
    if (!taken(LOCK_SH)) {
      if (is_complete(layout, root.get(), node)) return root;
      if (!taken(LOCK_EX)) break;
    }
    if (progress)
      progress(0, layout.total_bytes(),
               fmt::format("waiting for another headrace, which makes the same data set ({} s)",
                           waited / 5));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  generate(layout, root.get(), folder, node, progress);
  ::flock(root.get(), LOCK_SH);
  return root;
}

}  // namespace

DataSetSpec DataSetSpec::declare(Params& params, Defaults defaults) {
  DataSetSpec spec;
  spec.path = params.path(
      "path", "existing files to read, read-only: a folder or one file; none: files are generated");
  spec.allow_device = params.flag(
      "allow_device", false, "path may be a block device: it is read, never written");
  if (!spec.allow_device && system::is_block_device(spec.path))
    params.conflict("path", spec.path +
                                " is a block device: it is read only with 'allow_device: true' "
                                "(headrace never writes to one)");
  if (spec.allow_device && spec.path.empty())
    params.conflict("allow_device", "names no device: give its path, such as path: /dev/nvme0n1");
  spec.files =
      params.count("files", defaults.files, {.min = 1, .max = 4e9}, "number of files to generate");
  spec.file_size = params.bytes("file_size", defaults.file_size, {.min = 1, .max = kLargestFile},
                                "mean size of a file");
  spec.file_size_spread =
      params.bytes("file_size_spread", 0, {.max = kLargestFile},
                   "standard deviation of the sizes (normal, cut at three times it)");
  spec.files_per_folder =
      params.count("files_per_folder", 1000, {.min = 1, .max = 1e6}, "files in each folder");
  spec.seed = params.count("data_seed", 1, {.max = 1e18}, "seed of contents and sizes");
  if (3 * spec.file_size_spread > spec.file_size)
    params.conflict("file_size_spread", "must be at most a third of file_size");
  if (!spec.path.empty())
    for (const char* key :
         {"files", "file_size", "file_size_spread", "files_per_folder", "data_seed"})
      if (params.given(key))
        params.conflict(key, "generates files; not together with path, which reads existing ones");
  return spec;
}

std::string DataSetSpec::id() const {
  return fmt::format("{}x{}B-spread{}-per{}-seed{}", files, file_size, file_size_spread,
                     files_per_folder, seed);
}

std::shared_ptr<DataSet> DataSet::open(const DataSetSpec& spec, Node& node,
                                       const DataProgress& progress) {
  const std::shared_ptr<DataSet> data(new DataSet);
  data->spec_ = spec;
  data->threads_ = node.cores();
  if (!spec.path.empty()) {
    Walked walked = walk(spec.path, spec.allow_device, progress);
    data->files_ = std::move(walked.files);
    data->left_out_ = std::move(walked.left_out);
    return data;
  }
  const DataSetLayout layout(spec);
  node.reserve_writes(spec.id(), layout.total_bytes());
  const std::string parent =
      MarkedFolder::make(node.scratch() + "/" + kDataFolder, kDataFolder).path();
  const std::string folder = MarkedFolder::make(parent + "/" + spec.id(), "data_set").path();
  data->files_ = FileTable(open_generated(layout, folder, node, progress).release(), folder);
  for (std::uint64_t file = 0; file < layout.files(); ++file)
    data->files_.add(layout.path(file), layout.size(file));
  data->key_ = layout.key();
  data->generated_ = true;
  return data;
}

DataSet::~DataSet() = default;

}  // namespace headrace
