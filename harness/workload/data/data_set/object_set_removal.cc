// Removes data sets from an object store: objects that are provably headrace's, and nothing else.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "harness/workload/data/data_set/block_pattern.h"
#include "harness/workload/data/data_set/manifest.h"
#include "harness/workload/data/data_set/object_set.h"
#include "harness/workload/data/data_set/sample_files.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostOfList = 64 << 20;  // of a list [B]
constexpr std::size_t kAtOnce = 1000;

/// Takes the listed objects of all sets, set after set and folder after folder.
class ObjectRemover {
 public:
  explicit ObjectRemover(const objects::Scratch& scratch) : store_(scratch.store()), data_(scratch.data()) {}

  void see(const ListedObject& object) {
    const std::size_t slash = object.key.find('/');
    if (slash == std::string_view::npos) return leave(object, "not made by headrace");
    begin(std::string(object.key.substr(0, slash)));
    const std::string_view name = object.key.substr(slash + 1);
    if (!layout_) return leave(object, "not made by headrace");
    const std::size_t inner = name.find('/');
    if (name == Manifest::kFile || name.starts_with(kEtags)) return see_list(object, name);
    if (inner == std::string_view::npos) return leave(object, "not made by headrace");
    const auto folder = layout_->folder_number(name.substr(0, inner));
    const auto file = layout_->file_number(name.substr(inner + 1));
    if (!folder || !file || layout_->folder_of(*file) != *folder) return leave(object, "not made by headrace");
    if (is_listed(std::string(name.substr(0, inner)), *file, object) || says_so(*file, object))
      take(object);
    else
      leave(object, "not as headrace made it");
  }
  CleanReport finish() {
    end_set();
    flush();
    return std::move(report_);
  }

 private:
  void begin(const std::string& id) {
    if (id == id_) return;
    end_set();
    id_ = id;
    layout_.reset();
    if (const auto spec = DataSetSpec::of_id(id)) layout_.emplace(*spec);
    left_before_ = report_.left.size();
  }
  /// The lists and the manifest go last, and only with all the rest. So the set can be identified later, too.
  void end_set() {
    flush();
    if (report_.left.size() == left_before_) {
      own_.swap(lists_);
      sizes_.swap(list_sizes_);
      flush();
    }
    lists_.clear();
    list_sizes_.clear();
  }

  void see_list(const ListedObject& object, std::string_view name) {
    const auto text = store_.get(url_of(object), 0, kMostOfList);
    const bool own = text && (name == Manifest::kFile
                                  ? is_manifest(text->bytes)
                                  : parse_etags(text->bytes, id_, std::string(name.substr(kEtags.size()))).has_value());
    if (!own) return leave(object, "not made by headrace");
    lists_.push_back({url_of(object), std::string(object.etag)});
    list_sizes_.push_back(object.size);
  }

  bool is_listed(const std::string& folder, std::uint64_t file, const ListedObject& object) {
    if (folder_ != id_ + "/" + folder) {
      folder_ = id_ + "/" + folder;
      const auto text = store_.get(data_ + "/" + id_ + "/" + std::string(kEtags) + folder, 0, kMostOfList);
      etags_ = parse_etags(text ? text->bytes : "", id_, folder).value_or(std::vector<std::string>{});
    }
    const std::uint64_t at = file % layout_->spec().files_per_folder;
    return at < etags_.size() && etags_[at] == object.etag && object.size == layout_->size(file);
  }
  /// Made by a run that was killed before it wrote the list.
  bool says_so(std::uint64_t file, const ListedObject& object) const {
    if (object.size > layout_->size(file)) return false;
    const auto found = store_.get(url_of(object), 0, std::max<std::uint64_t>(kBlock, SampleFile::kFirst));
    if (!found || found->bytes.empty()) return false;
    const std::span<const unsigned char> first(reinterpret_cast<const unsigned char*>(found->bytes.data()),
                                               found->bytes.size());
    if (layout_->spec().holds_samples()) return SampleFile(*layout_, file).is_begin(first);
    std::vector<unsigned char> expected(first.size());
    fill_range(layout_->key(), file, 0, expected.data(), expected.size());
    return std::equal(first.begin(), first.end(), expected.begin());
  }

  void take(const ListedObject& object) {
    own_.push_back({url_of(object), std::string(object.etag)});
    sizes_.push_back(object.size);
    if (own_.size() >= kAtOnce) flush();
  }
  void flush() {
    report_.add(objects::remove(store_, own_, sizes_));
    own_.clear();
    sizes_.clear();
  }
  void leave(const ListedObject& object, const char* why) { report_.left.push_back(url_of(object) + ": " + why); }
  std::string url_of(const ListedObject& object) const { return data_ + "/" + std::string(object.key); }

  ObjectStore& store_;
  const std::string data_;
  std::string id_, folder_;
  std::optional<DataSetLayout> layout_;
  std::size_t left_before_ = 0;
  std::vector<std::string> etags_;  // of folder_, "ID/d000"
  std::vector<OwnObject> own_, lists_;
  std::vector<std::uint64_t> sizes_, list_sizes_;
  CleanReport report_;
};

}  // namespace

std::string etags_text(const std::string& id, const std::string& folder, const std::vector<std::string>& etags) {
  std::string text = "headrace.etags " + id + " " + folder + "\n";
  for (const std::string& etag : etags) text += etag + "\n";
  return text;
}

std::optional<std::vector<std::string>> parse_etags(std::string_view text, const std::string& id,
                                                    const std::string& folder) {
  const std::string head = "headrace.etags " + id + " " + folder + "\n";
  if (!text.starts_with(head)) return std::nullopt;
  std::vector<std::string> etags;
  for (text.remove_prefix(head.size()); !text.empty();) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    etags.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return etags;
}

CleanReport remove_object_sets(const objects::Scratch& scratch) {
  ObjectRemover remover(scratch);
  scratch.store().list(scratch.data(), [&](const ListedObject& object) { remover.see(object); });
  return remover.finish();
}

}  // namespace headrace
