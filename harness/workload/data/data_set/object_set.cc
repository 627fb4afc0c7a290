// Makes and opens data sets in an object store.
#include "harness/workload/data/data_set/object_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "harness/backends/codec.h"
#include "harness/backends/loader.h"
#include "harness/backends/object_writer.h"
#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/base/parallel.h"
#include "harness/machine/node.h"
#include "harness/workload/data/data_set/block_pattern.h"
#include "harness/workload/data/data_set/making_pace.h"
#include "harness/workload/data/data_set/manifest.h"
#include "harness/workload/data/data_set/sample_files.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPart = 16 << 20;      // larger objects are uploaded in such parts, one after the other [B]
constexpr std::uint64_t kMostText = 64 << 20;  // of a list [B]
constexpr unsigned kRetries = 5, kThreads = 16;
constexpr double kPatience_s = 600;  // for another process to make a folder's worth

std::string text_of(ObjectStore& store, const std::string& url) {
  const auto found = store.get(url, 0, kMostText);
  return found ? found->bytes : "";
}

/// One set in its place.
class ObjectSet {
 public:
  ObjectSet(const DataSetLayout& layout, const objects::Scratch& scratch)
      : layout_(layout),
        store_(scratch.store()),
        id_(layout.spec().id()),
        root_(scratch.data() + "/" + id_),
        table_(-1, root_) {
    table_.set_objects();
  }

  /// Takes the files up to the first that does not match the manifest and the lists; returns their number.
  std::uint64_t take_whole() {
    const auto manifest = parse_manifest(text_of(store_, root_ + "/" + Manifest::kFile));
    if (!manifest || manifest->spec.id() != id_) return taken();
    while (taken() < manifest->made && take_folder(manifest->made)) {
    }
    return taken();
  }
  std::uint64_t taken() const { return table_.count(); }
  FileTable table() && { return std::move(table_); }

  /// Makes the rest, or as much as there is time for.
  void make(Node& node, const DataProgress& progress, std::optional<double> limit_s) {
    const DataSetSpec& spec = layout_.spec();
    std::optional<decode::SampleMaker> maker;
    if (spec.holds_samples())
      maker.emplace(node.backends().codec(spec.content),
                    spec.content_sample > 0 ? spec.content_sample : spec.file_size);
    std::uint64_t total = 0;
    for (std::uint64_t file = taken(); file < layout_.files(); ++file) total += layout_.size(file);
    const bool anew = taken() == 0;
    MakingPace pace(spec.file_size, limit_s);
    std::vector<std::unique_ptr<Writer>> writers(std::clamp(node.cores() * 4, 4u, kThreads));
    std::atomic<std::uint64_t> done{0};
    try {
      while (std::size_t count = pace.next(layout_.files() - taken())) {
        // A folder at most, so that its part in memory stays small.
        count = std::min<std::size_t>(count, spec.files_per_folder - taken() % spec.files_per_folder);
        made_.assign(count, {});
        parallel_for(
            count, static_cast<unsigned>(writers.size()),
            [&](unsigned worker, std::uint64_t item) {
              auto& writer = writers[worker];
              if (!writer) writer = std::make_unique<Writer>(layout_, store_, root_, done, maker ? &*maker : nullptr);
              made_[item] = writer->write(taken() + item);
            },
            [&] {
              if (progress) progress(done.load(), total, "generating objects");
            });
        pace.made(count);
        keep_made();
      }
    } catch (...) {
      take_back(anew);
      throw;
    }
    if (taken() == 0) throw Unsupported("not one object was made in time: a longer --budget would do");
  }

 private:
  /// Puts one object after the other.
  class Writer {
   public:
    Writer(const DataSetLayout& layout, ObjectStore& store, const std::string& root, std::atomic<std::uint64_t>& done,
           const decode::SampleMaker* maker)
        : layout_(layout),
          root_(root),
          done_(done),
          maker_(maker),
          writer_(store.object_writer({.queue_depth = 1, .part_size = kPart, .retries = kRetries})),
          buffer_(std::min(kPart, layout.spec().file_size + 3 * layout.spec().file_size_spread)) {}

    OwnObject write(std::uint64_t file) {
      const std::uint64_t size = layout_.size(file);
      OwnObject object{root_ + "/" + layout_.path(file), ""};
      std::optional<SampleStream> samples;
      if (maker_ != nullptr) samples.emplace(layout_, *maker_, file);
      writer_->begin(object.url, size);
      for (std::uint64_t at = 0; at < size; at += kPart) {
        const std::uint64_t length = std::min(kPart, size - at);
        if (samples)
          samples->fill(buffer_.data(), length);
        else
          fill_range(layout_.key(), file, at, buffer_.data(), length);
        const BlockRequest part{.offset = at, .length = static_cast<std::uint32_t>(length), .from = buffer_.data()};
        if (size <= kPart) writer_->checksums_of(buffer_.data(), size);
        const auto sent = writer_->exchange({&part, 1}, 1);
        if (sent.empty() || sent.front().error != 0) {
          const std::string why = writer_->why();
          writer_->give_up();
          throw RunError(why);
        }
        done_.fetch_add(length, std::memory_order_relaxed);
      }
      object.etag = writer_->finish();
      return object;
    }

   private:
    const DataSetLayout& layout_;
    const std::string root_;
    std::atomic<std::uint64_t>& done_;
    const decode::SampleMaker* const maker_;
    std::unique_ptr<ObjectWriter> writer_;
    std::vector<unsigned char> buffer_;
  };

  std::string list_of(std::uint64_t folder) const {
    return fmt::format("{}/{}{}", root_, kEtags, layout_.folder(folder));
  }

  /// Files of the next one's folder, below `made`. False: one of them does not exist.
  bool take_folder(std::uint64_t made) {
    const std::uint64_t folder = layout_.folder_of(taken()), first = folder * layout_.spec().files_per_folder;
    const auto etags = parse_etags(text_of(store_, list_of(folder)), id_, layout_.folder(folder));
    if (!etags) return false;
    const std::uint64_t end = std::min(made, first + etags->size());
    store_.list(root_ + "/" + layout_.folder(folder), [&](const ListedObject& object) {
      const std::uint64_t file = taken();
      if (file < end && object.key == layout_.name(file) && object.size == layout_.size(file) &&
          object.etag == (*etags)[file - first])
        table_.add(layout_.path(file), object.size, object.version);
    });
    if (taken() < end || end < std::min(made, first + layout_.spec().files_per_folder)) return false;
    etags_ = *etags;
    return true;
  }

  /// New objects are in the lists before they count.
  void keep_made() {
    if (taken() % layout_.spec().files_per_folder == 0) etags_.clear();
    const std::uint64_t first = taken(), folder = layout_.folder_of(first);
    etags_.resize(first % layout_.spec().files_per_folder);
    // As listings give them: some stores leave the quotes out there.
    std::vector<std::pair<std::string, std::uint64_t>> listed;
    const std::uint64_t end = first + made_.size();
    store_.list(root_ + "/" + layout_.folder(folder), [&](const ListedObject& object) {
      const std::uint64_t file = first + listed.size();
      if (file < end && object.key == layout_.name(file)) listed.emplace_back(object.etag, object.version);
    });
    if (listed.size() != made_.size())
      throw RunError(
          fmt::format("{}: of {} objects that the store took it lists {}", root_, made_.size(), listed.size()));
    for (const auto& one : listed) etags_.push_back(one.first);
    put(list_of(folder), etags_text(id_, layout_.folder(folder), etags_));
    for (std::uint64_t file = first; file < end; ++file)
      table_.add(layout_.path(file), layout_.size(file), listed[file - first].second);
    made_.clear();
    put(root_ + "/" + Manifest::kFile, manifest_text({layout_.spec(), taken() == layout_.files(), taken()}));
  }
  void put(const std::string& url, const std::string& text) { store_.put(url, text, false); }

  /// `all`: there was nothing before.
  void take_back(bool all) noexcept {
    try {
      std::vector<OwnObject> objects;
      for (OwnObject& object : made_)
        if (!object.etag.empty()) objects.push_back(std::move(object));
      if (all) {
        for (std::uint32_t file = 0; file < table_.count(); ++file) {
          const std::uint64_t folder = layout_.folder_of(file), inside = file % layout_.spec().files_per_folder;
          if (inside == 0)
            etags_ = parse_etags(text_of(store_, list_of(folder)), id_, layout_.folder(folder)).value_or(etags_);
          if (inside < etags_.size()) objects.push_back({table_.full_path(file), etags_[inside]});
        }
        store_.list(root_, [&](const ListedObject& object) {
          if (object.key == Manifest::kFile || object.key.starts_with(kEtags))
            objects.push_back({root_ + "/" + std::string(object.key), std::string(object.etag)});
        });
      }
      store_.remove(objects, [](std::size_t, bool) {});
    } catch (const RunError&) {  // objects that cannot be removed stay for `clean`
    }
  }

  const DataSetLayout& layout_;
  ObjectStore& store_;
  const std::string id_, root_;
  FileTable table_;
  std::vector<OwnObject> made_;     // of the present batch
  std::vector<std::string> etags_;  // of the present folder
};

}  // namespace

FileTable open_generated_objects(const DataSetLayout& layout, Node& node, const DataProgress& progress) {
  const objects::Scratch& scratch = node.object_scratch();
  const auto left_s = node.making_left();
  std::uint64_t before = 0;
  auto since = Clock::now();
  for (;;) {
    ObjectSet set(layout, scratch);
    const std::uint64_t whole = set.take_whole();
    if (whole == layout.files() || (left_s && whole > 0 && (*left_s <= 0 || node.team_index() > 0)))
      return std::move(set).table();
    if (node.team_index() == 0) {
      const auto start = Clock::now();
      set.make(node, progress, left_s);
      node.spend_making(seconds_since(start));
      return std::move(set).table();
    }
    if (whole > before) since = Clock::now();
    before = whole;
    if (seconds_since(since) > kPatience_s)
      throw RunError(fmt::format("{}: the first process does not make the data set", scratch.data()));
    if (progress) progress(whole, layout.files(), "waiting for the first process, which makes the data set");
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace headrace
