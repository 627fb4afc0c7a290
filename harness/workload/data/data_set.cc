// Parameters of data sets, and opening them.
#include "harness/workload/data/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "harness/backends/engines.h"
#include "harness/backends/loader.h"
#include "harness/backends/objects/scratch.h"
#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/machine/block_device.h"
#include "harness/machine/node.h"
#include "harness/workload/data/data_set/block_pattern.h"
#include "harness/workload/data/data_set/generate.h"
#include "harness/workload/data/data_set/layout.h"
#include "harness/workload/data/data_set/manifest.h"
#include "harness/workload/data/data_set/object_set.h"
#include "harness/workload/data/data_set/walk.h"
#include "harness/workload/data/opened_file.h"
#include "harness/workload/workload.h"

namespace headrace {
namespace {

constexpr double kLargestFile = 0x1p44;  // 16 TiB, the limit of ext4
constexpr std::uint64_t kLeastSample = 4096, kLeastTarSample = 8192, kLargestSample = 16_MiB,
                        kLargestArray = 512_MiB;  // that are generated [B]

/// A data set in its folder below `parent`, which is made first if necessary. While it is open it is locked for all but
/// readers, so that no process removes it. File systems without locks work without. `whole`: the number of existing
/// files, from the first on. It is all of them where the node sets no limit to the time of making them.
files::Folder open_generated(const DataSetLayout& layout, const files::Folder& parent, Node& node,
                             const DataProgress& progress, std::uint64_t& whole) {
  for (unsigned waited = 0;; ++waited) {
    const MarkedFolder set = MarkedFolder::make(parent, layout.spec().id(), kSetKind);
    const files::Folder& root = set.folder();
    if (root.lock_shared() && set.is_marked()) {
      const auto left_s = node.making_left();
      whole = whole_files(layout, root, node);
      const bool will_do = left_s && whole > 0;
      // The others of several processes share the first one's set, and do not extend it.
      if (whole == layout.files() || (will_do && (*left_s <= 0 || node.team_index() > 0))) return root.again();
      if (set.try_hold()) {
        const auto start = std::chrono::steady_clock::now();
        const DataSetSpec& spec = layout.spec();
        const Codec* const codec = spec.holds_samples() ? &node.backends().codec(spec.content) : nullptr;
        whole = generate(layout, set, node, codec, progress, left_s);
        node.spend_making(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        root.lock_shared();
        return root.again();
      }
      if (will_do && root.lock_shared()) return root.again();  // others read it
    }
    if (progress)
      progress(0, layout.total_bytes(),
               fmt::format("waiting for another headrace, which makes the same data set ({} s)", waited / 5));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

}  // namespace

DataSetSpec DataSetSpec::declare(Params& params, Defaults defaults) {
  DataSetSpec spec;
  spec.path = params.path("path",
                          defaults.objects ? "existing data to read, read-only: a folder, a file, or objects below "
                                             "s3://bucket/prefix; none: files are generated"
                                           : "existing files to read, read-only: a folder or one file; none: files are "
                                             "generated",
                          defaults.objects);
  spec.allow_device = params.flag("allow_device", false, "path may be a block device: it is read, never written");
  if (!spec.allow_device && system::is_block_device(spec.path))
    params.conflict("path", spec.path +
                                " is a block device: it is read only with 'allow_device: true' "
                                "(headrace never writes to one)");
  if (spec.allow_device && spec.path.empty())
    params.conflict("allow_device", "names no device: give its path, such as path: /dev/nvme0n1");
  spec.files = params.count("files", defaults.files, {.min = 1, .max = 4e9}, "number of files to generate");
  spec.file_size =
      params.bytes("file_size", defaults.file_size, {.min = 1, .max = kLargestFile}, "mean size of a file");
  spec.file_size_spread = params.bytes("file_size_spread", 0, {.max = kLargestFile},
                                       "standard deviation of the sizes (normal, cut at three times it)");
  spec.files_per_folder = params.count("files_per_folder", 1000, {.min = 1, .max = 1e6}, "files in each folder");
  spec.seed = params.count("data_seed", 1, {.max = 1e18}, "seed of contents and sizes");
  if (3 * spec.file_size_spread > spec.file_size)
    params.conflict("file_size_spread", "must be at most a third of file_size");
  if (defaults.samples) spec.declare_content(params);
  if (!spec.path.empty())
    for (const char* key : {"files", "file_size", "file_size_spread", "files_per_folder", "data_seed"})
      if (params.given(key)) params.conflict(key, "generates files; not together with path, which reads existing ones");
  return spec;
}

void DataSetSpec::declare_content(Params& params) {
  std::vector<std::string> words = known_codecs();
  words.insert(words.begin(), kBlocks);
  content =
      params.choice("content", kBlocks, words,
                    "what generated files hold. blocks: bytes that say where they belong; else images of waves and "
                    "noise in that codec, of npz their bytes as an array");
  content_sample =
      params.bytes("content_sample", 0, {.max = kLargestSample},
                   "with content of a codec. 0B: a sample in each file; else files are tar shards, of samples "
                   "of this mean size");
  if (!path.empty() && params.given("content") && holds_samples())
    params.conflict("content", "is of generated files; not together with path, which reads existing ones");
  if (!holds_samples()) {
    if (content_sample > 0) params.conflict("content_sample", "goes with content of a codec");
    return;
  }
  const std::uint64_t least = content_sample > 0 ? 2 * kLeastTarSample : kLeastSample;
  if (content_sample > 0 && content_sample < kLeastTarSample)
    params.conflict("content_sample", "8 KiB at least");
  else if (file_size < least + 3 * file_size_spread)
    params.conflict("file_size",
                    fmt::format("{} at least, file_size_spread taken off three times, where files hold samples",
                                format_quantity(static_cast<double>(least), Dimension::bytes)));
  const std::uint64_t most = content == "npz" ? kLargestArray : kLargestSample;
  if (content_sample == 0 && file_size + 3 * file_size_spread > most)
    params.conflict("file_size",
                    fmt::format("{} at most, file_size_spread added three times, where files hold a sample each",
                                format_quantity(static_cast<double>(most), Dimension::bytes, true)));
}

std::string DataSetSpec::id() const {
  std::string id =
      fmt::format("{}x{}B-spread{}-per{}-seed{}", files, file_size, file_size_spread, files_per_folder, seed);
  if (holds_samples()) id += fmt::format("-{}-of{}B", content, content_sample);
  return id;
}

std::optional<DataSetSpec> DataSetSpec::of_id(const std::string& id) {
  unsigned long long files, size, spread, per, seed;
  unsigned long long sample = 0;
  char codec[16] = "";
  const int found = std::sscanf(id.c_str(), "%llux%lluB-spread%llu-per%llu-seed%llu-%15[a-z]-of%lluB", &files, &size,
                                &spread, &per, &seed, codec, &sample);
  if (found != 5 && found != 7) return std::nullopt;
  DataSetSpec spec;
  spec.files = files;
  spec.file_size = size;
  spec.file_size_spread = spread;
  spec.files_per_folder = per;
  spec.seed = seed;
  if (found == 7) {
    spec.content = codec;
    spec.content_sample = sample;
    const std::vector<std::string> known = known_codecs();
    if (std::find(known.begin(), known.end(), spec.content) == known.end()) return std::nullopt;
  }
  if (spec.id() != id || files == 0 || size == 0 || per == 0) return std::nullopt;
  return spec;
}

std::shared_ptr<DataSet> DataSet::open(const DataSetSpec& spec, Node& node, const DataProgress& progress) {
  std::shared_ptr<DataSet> data(new DataSet);
  data->spec_ = spec;
  data->threads_ = node.cores();
  if (!spec.path.empty()) {
    if (is_object_path(spec.path)) data->store_ = node.backends().storage(object_engine()).object_store();
    const WalkRules rules{.allow_device = spec.allow_device, .images = spec.images, .leaves_out = {}};
    Walked walked = data->store_ != nullptr ? list_objects(*data->store_, spec.path, rules, progress)
                                            : walk(spec.path, rules, progress);
    data->files_ = std::move(walked.files);
    data->left_out_ = std::move(walked.left_out);
    data->empty_files_ = std::move(walked.empty);
    return data;
  }
  const DataSetLayout layout(spec);
  node.reserve_writes(spec.id(), layout.total_bytes());
  data->key_ = layout.key();
  data->generated_ = true;
  if (node.makes_objects()) {
    data->files_ = open_generated_objects(layout, node, progress);
    data->store_ = &node.object_scratch().store();
    return data;
  }
  const MarkedFolder parent = MarkedFolder::make(node.scratch_folder(), kDataFolder, kDataFolder);
  std::uint64_t whole = 0;
  files::Folder folder = open_generated(layout, parent.folder(), node, progress, whole);
  const std::string path = folder.path();
  data->files_ = FileTable(folder.release().release(), path);
  for (std::uint64_t file = 0; file < whole; ++file) data->files_.add(layout.path(file), layout.size(file));
  return data;
}

OpenedFile DataSet::opened(std::uint32_t file, int advice) const { return {files_, file, advice, store_}; }

std::vector<unsigned char> DataSet::whole(std::uint32_t file) const {
  std::vector<unsigned char> bytes(files_.size(file));
  OpenedFile from = opened(file, 0);
  if (!from.is_open()) throw RunError(files_.full_path(file) + ": " + from.why());
  for (std::size_t got = 0; got < bytes.size();) {
    const std::int64_t n = from.read(got, bytes.data() + got, bytes.size() - got);
    if (n < 0) throw RunError(files_.full_path(file) + ": " + from.why());
    if (n == 0) bytes.resize(got);
    got += static_cast<std::size_t>(n);
  }
  return bytes;
}

DataSet::~DataSet() = default;

const FileTable* files_of(const Workload& workload) {
  const auto& read = as<ReadsFiles>(workload);
  if (const FileTable* own = read.files()) return own;
  return read.data() == nullptr ? nullptr : &read.data()->files();
}

}  // namespace headrace
