#include "harness/pack/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>

#include "harness/backends/formats/tar.h"
#include "harness/base/code_points.h"
#include "harness/base/data_path.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/random.h"
#include "harness/base/start_thread.h"
#include "harness/base/units.h"
#include "harness/pack/sample_reader.h"
#include "harness/pack/shard_file.h"

namespace headrace::pack {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr const char* kManifest = ".headrace-pack.json";
constexpr const char* kIndex = "index.json";  // of MDS shards
constexpr const char* kModified = "modified_ns";
constexpr std::size_t kLongestManifest = 1 << 30;
constexpr std::uint64_t kLargestSample = std::uint64_t{2} << 30;  // a whole one is in memory
constexpr std::uint64_t kSeed = 1;

std::string bytes(std::uint64_t value) { return format_quantity(static_cast<double>(value), Dimension::bytes); }

/// As it is in the list of shards.
std::string place_of_source(const Options& options) {
  return options.store != nullptr ? options.source : fs::weakly_canonical(options.source).string();
}

/// `folder`: of the source, as the user names it.
void check_apart(const std::string& folder, const fs::path& place, const std::string& target) {
  const fs::path to = fs::weakly_canonical(fs::absolute(target));  // a missing one would stay relative
  if (lies_in(to, place) || lies_in(place, to))
    throw UsageError(fmt::format("pack: {} and {} lie in each other: name another --to", folder, target));
}

/// The folders of samples or shards, at the places that links lead to.
void check_folders(const Plan& plan) {
  const bool shards = plan.from.in_shards();
  const FileTable& files = shards ? plan.from.shards : plan.from.files;
  std::set<std::string> known;
  const auto check = [&](const fs::path& inside) {
    const std::string shown = (fs::path(files.root()) / inside).string();
    const fs::path place = fs::weakly_canonical(shown);
    check_apart(shown, place, plan.options.target);
    if (!shards && MarkedFolder::is_marked(place.string()))
      throw UsageError(fmt::format("pack: {} is headrace's own folder, which holds no samples: move it away", shown));
  };
  for (const std::string& name : plan.from.classes)
    if (known.insert(name).second) check(name);
  for (std::uint32_t file = 0; file < files.count(); ++file)
    for (fs::path inside = fs::path(files.name(file)).parent_path();
         !inside.empty() && known.insert(inside.string()).second; inside = inside.parent_path())
      check(inside);
}

void check_target(const Options& options) {
  check_apart(options.source, place_of_source(options), options.target);
  const fs::path target = fs::weakly_canonical(options.target);
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(target, ignored))) return;
  if (!fs::is_directory(target)) throw UsageError("pack: " + options.target + " is no folder");
  if (!MarkedFolder::is_free_for(options.target, options.kind))
    throw UsageError("pack: " + options.target + " holds something that headrace did not pack: name another --to");
}

/// The free space where `target` is or will be.
std::uint64_t free_bytes(const std::string& target) {
  fs::path there = fs::absolute(target);
  while (!fs::exists(there) && there.has_relative_path()) there = there.parent_path();
  return fs::space(there).available;
}

std::string text_of(const Json& json) { return json.dump(1) + "\n"; }

/// A name of any bytes. JSON holds UTF-8 only, so that other bytes are {"hex": "636166e9"}.
Json stored(const std::string& name) {
  if (is_utf8(name)) return name;
  std::string hex;
  for (const char byte : name) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return Json::object({{"hex", hex}});
}

Json stored(const std::vector<std::string>& names) {
  Json all = Json::array();
  for (const std::string& name : names) all.push_back(stored(name));
  return all;
}

std::string text_of_crc(std::uint32_t crc) { return fmt::format("{:08x}", crc); }

bool holds(const Json& file, const char* key, const Json& value) { return file.contains(key) && file[key] == value; }

/// Is the file with this status the one that the list of shards describes? Reads it only if its time differs.
bool is_as_listed(const files::Folder& folder, const Json& file, const std::string& name, const struct stat& status,
                  const DataProgress& progress) {
  if (!S_ISREG(status.st_mode) || !holds(file, "bytes", static_cast<std::uint64_t>(status.st_size))) return false;
  if (holds(file, kModified, modified_ns(status))) return true;
  if (progress) progress(0, 0, "comparing shards that were touched");
  return holds(file, "crc32c", text_of_crc(content_of(folder, name, folder.path_of(name)).crc));
}

/// The description in a folder of shards: its packing, and the whole shards.
class Manifest {
 public:
  Manifest(const Plan& plan, const MarkedFolder& folder, const DataProgress& progress)
      : folder_(folder), progress_(progress) {
    now_ = {{"kind", "headrace.pack"},
            {"schema", 1},
            {"source", stored(place_of_source(plan.options))},
            {"source_mark", fmt::format("{:016x}", plan.from.mark)},
            {"format", std::string(to_string(plan.options.format))},
            {"shard_size", plan.options.shard_size},
            {"order", plan.options.shuffled ? "shuffled" : "listed"},
            {"samples", plan.order.size()},
            {"classes", stored(plan.from.classes)},
            {"shards", Json::array()},
            {"complete", false}};
    const std::string text = folder.folder().read(kManifest, kLongestManifest);
    if (text.empty()) return;
    const Json before = Json::parse(text, nullptr, false);
    const auto differs = [&](const char* key) {
      return !before.is_object() || !before.contains(key) || before[key] != now_[key];
    };
    for (const char* key : {"source", "format", "shard_size", "order", "classes"})
      if (differs(key))
        throw UsageError(fmt::format("pack: {} has shards of another packing (its {} changed): name another --to",
                                     folder.path(), key));
    if (differs("source_mark"))
      throw UsageError(fmt::format("pack: {} was changed since {} was begun: name another --to",
                                   place_of_source(plan.options), folder.path()));
    if (before.contains("index")) know(before["index"]);
    if (!before.contains("shards") || !before["shards"].is_array()) return;
    for (const Json& shard : before["shards"]) know(shard);
  }

  /// Is the shard there as it was written? Throws RunError when something else has its name, or it was changed.
  bool has(const std::string& name) {
    if (!is_there(name)) return false;
    now_["shards"].push_back(known_[name]);
    return true;
  }
  bool has_index() {
    if (!is_there(kIndex)) return false;
    now_["index"] = known_[kIndex];
    return true;
  }
  /// Before the shard gets its name, so that one with a name is always known.
  void add(const ShardFile& shard, std::uint64_t samples) {
    now_["shards"].push_back(describe(shard));
    now_["shards"].back()["samples"] = samples;
    write();
  }
  void add_index(const ShardFile& index) {
    now_["index"] = describe(index);
    write();
  }
  void complete() {
    now_["complete"] = true;
    write();
  }
  void write() const { folder_.write(kManifest, text_of(now_)); }

 private:
  void know(const Json& file) {
    if (file.is_object() && file.contains("name") && file["name"].is_string()) known_[file["name"]] = file;
  }
  static Json describe(const ShardFile& file) {
    return {{"name", file.name()},
            {"bytes", file.bytes()},
            {"crc32c", text_of_crc(file.crc())},
            {kModified, modified_ns(file.status())}};
  }
  bool is_there(const std::string& name) {
    const auto there = folder_.folder().look(name);
    const auto known = known_.find(name);
    if (!there) return false;
    if (known == known_.end() || !is_as_listed(folder_.folder(), known->second, name, *there, progress_))
      throw RunError(folder_.folder().path_of(name) +
                     ": is not the shard that was packed there: remove it and pack again, or name another --to");
    known->second[kModified] = modified_ns(*there);
    if (files::bears_mark(*there)) folder_.folder().hand_over(name);  // the packing was killed as it got its name
    return true;
  }

  const MarkedFolder& folder_;
  const DataProgress& progress_;
  Json now_;
  std::map<std::string, Json> known_;
};

/// Gathers shards one after the other. While one is, the one before is written to its end, read back and gets its name.
class Packer {
 public:
  Packer(const Plan& plan, const DataProgress& progress)
      : plan_(plan),
        progress_(progress),
        folder_(MarkedFolder::make_alone(plan.options.target, plan.options.kind)),
        manifest_(plan, folder_, progress) {
    remove_asides(folder_.folder());
  }

  Packed run() {
    const auto start = Clock::now();
    std::vector<std::size_t> todo;
    std::uint64_t missing = 0;
    for (std::size_t i = 0; i < plan_.shards.size(); ++i) {
      if (manifest_.has(plan_.name(i))) {
        ++packed_.kept;
        done_ += plan_.shards[i].bytes;
        continue;
      }
      todo.push_back(i);
      missing += plan_.shards[i].bytes;
    }
    if (const std::uint64_t free = free_bytes(plan_.options.target); missing > free)
      throw RunError(
          fmt::format("{}: the shards need {}; only {} are free", folder_.path(), bytes(missing), bytes(free)));
    // Asked before the list is written anew: an unlisted file counts as another program's.
    const bool index_wanted = plan_.options.format == formats::Format::mds && !manifest_.has_index();
    manifest_.write();
    std::vector<std::uint32_t> order;
    for (const std::size_t i : todo) {
      const auto begin = plan_.order.begin() + static_cast<std::ptrdiff_t>(plan_.shards[i].first);
      order.insert(order.end(), begin, begin + static_cast<std::ptrdiff_t>(plan_.shards[i].samples));
    }
    SampleReader samples(plan_.from, order, plan_.as);
    for (const std::size_t i : todo) write(i, samples);
    check_last();
    if (index_wanted) write_index();
    manifest_.complete();
    packed_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return packed_;
  }

  /// Where nothing was written but the mark.
  void remove_if_empty() const noexcept try {
    if (folder_.folder().entries() == std::vector{std::string(MarkedFolder::kMark)}) folder_.remove();
  } catch (const std::exception&) {
    // It stays, marked, for the next packing.
  }

 private:
  void write(std::size_t number, SampleReader& samples) {
    const Shard& planned = plan_.shards[number];
    auto shard = std::make_unique<ShardFile>(folder_.folder(), plan_.name(number), planned.bytes);
    if (plan_.options.format == formats::Format::mds) shard->append(head(planned));
    for (std::uint64_t i = 0; i < planned.samples; ++i) {
      samples.next(sample_);
      shard->append(sample_);
      done_ += sample_.size();
      report("packing");
      if (last_ && reading_back_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) check_last();
    }
    if (plan_.options.format == formats::Format::tar) shard->append(std::string(formats::kTarEnd, '\0'));
    if (plan_.options.format == formats::Format::mds && shard->bytes() != planned.bytes)
      throw RunError(fmt::format("{}: has {} bytes, not the {} that were planned", plan_.name(number), shard->bytes(),
                                 planned.bytes));
    check_last();
    last_ = std::move(shard);
    last_samples_ = planned.samples;
    reading_back_ = start_reading_back();
  }
  std::future<void> start_reading_back() const try {
    return std::async(std::launch::async, [file = last_.get()] {
      file->finish();
      file->read_back();
    });
  } catch (const std::system_error& e) {
    throw_no_thread(e);
  }
  std::string head(const Shard& shard) const {
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t i = shard.first; i < shard.first + shard.samples; ++i)
      sizes.push_back(encoded_bytes(plan_.from, plan_.from.samples[plan_.order[i]], plan_.as));
    return formats::mds_head(sizes, plan_.settings);
  }
  /// Last, as it makes a data set of the shards.
  void write_index() {
    std::vector<formats::MdsShard> shards;
    for (std::size_t i = 0; i < plan_.shards.size(); ++i)
      shards.push_back({.name = plan_.name(i), .bytes = plan_.shards[i].bytes, .samples = plan_.shards[i].samples});
    const std::string text = formats::mds_index(shards, plan_.settings);
    ShardFile index(folder_.folder(), kIndex, text.size());
    index.append(text);
    index.finish();
    index.read_back();
    manifest_.add_index(index);
    index.publish();
  }
  void check_last() {
    if (!last_) return;
    while (reading_back_.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) report("reading back");
    reading_back_.get();
    manifest_.add(*last_, last_samples_);
    last_->publish();
    packed_.bytes += last_->bytes();
    packed_.samples += last_samples_;
    ++packed_.shards;
    last_.reset();
  }
  void report(const char* what) const {
    if (progress_) progress_(std::min(done_, plan_.bytes), plan_.bytes, what);
  }

  const Plan& plan_;
  const DataProgress& progress_;
  MarkedFolder folder_;
  Manifest manifest_;
  Packed packed_;
  std::uint64_t done_ = 0, last_samples_ = 0;
  std::string sample_;               // the one that was taken last
  std::unique_ptr<ShardFile> last_;  // gathered as a whole, and being written and read back
  std::future<void> reading_back_;   // ends before it
};

}  // namespace

std::string Plan::name(std::size_t shard) const {
  if (options.format == formats::Format::mds) return fmt::format("shard.{:05}.mds", shard);
  return fmt::format("shard-{:06}.{}", shard, to_string(options.format));
}

void cut_into_shards(Plan& plan) {
  plan.shards.clear();
  plan.bytes = 0;
  const bool mds = plan.options.format == formats::Format::mds;
  // For each shard, and for a sample in addition to its bytes: the offset of its end.
  const std::uint64_t fixed = mds ? formats::mds_head({}, plan.settings).size()
                              : plan.options.format == formats::Format::tar ? formats::kTarEnd
                                                                            : 0;
  const std::uint64_t beside = mds ? 4 : 0;
  for (std::uint64_t i = 0; i < plan.order.size(); ++i) {
    const Sample& sample = plan.from.samples[plan.order[i]];
    if (plan.from.bytes(sample) > kLargestSample)
      throw UsageError(fmt::format("pack: {} is larger than a sample can be ({})",
                                   plan.from.files.full_path(plan.from.order[sample.first]), bytes(kLargestSample)));
    const std::uint64_t size = encoded_bytes(plan.from, sample, plan.as) + beside;
    if (plan.shards.empty() || plan.shards.back().bytes + size > plan.options.shard_size ||
        (mds && plan.shards.back().samples == formats::kMostMdsSamples))
      plan.shards.push_back({.first = i, .samples = 0, .bytes = fixed});
    ++plan.shards.back().samples;
    plan.shards.back().bytes += size;
  }
  for (const Shard& shard : plan.shards) plan.bytes += shard.bytes;
}

bool known_shard(const MarkedFolder& folder, const std::string& name, const struct stat& status) {
  const Json manifest = Json::parse(folder.folder().read(kManifest, kLongestManifest), nullptr, false);
  if (!manifest.is_object() || !manifest.contains("shards") || !manifest["shards"].is_array()) return false;
  const auto is_it = [&](const Json& shard) {
    return shard.is_object() && holds(shard, "name", name) && is_as_listed(folder.folder(), shard, name, status, {});
  };
  return std::ranges::any_of(manifest["shards"], is_it) || (manifest.contains("index") && is_it(manifest["index"]));
}

Plan plan(const Options& options, const DataProgress& progress) {
  check_target(options);
  Plan plan;
  plan.options = options;
  plan.from = list_images(options.source, progress, options.follow_links, options.store, options.format);
  if (options.store == nullptr) check_folders(plan);
  plan.as = encoding_of(plan.from, options.format);
  const bool mds = options.format == formats::Format::mds;
  if (mds) plan.settings = formats::mds_settings(plan.as.columns, options.shard_size);
  if (mds && options.shard_size > formats::kMostMdsShard)
    throw UsageError(
        fmt::format("pack: an MDS shard has less than 4GiB: --shard-size {} is more", bytes(options.shard_size)));
  plan.order.resize(plan.from.samples.size());
  std::iota(plan.order.begin(), plan.order.end(), 0u);
  Random random(kSeed);
  if (options.shuffled) shuffle(std::span(plan.order), random);
  cut_into_shards(plan);
  return plan;
}

Packed pack(const Plan& plan, const DataProgress& progress) {
  Packer packer(plan, progress);
  try {
    return packer.run();
  } catch (...) {
    packer.remove_if_empty();
    throw;
  }
}

}  // namespace headrace::pack
