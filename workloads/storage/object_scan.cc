#include "workloads/storage/object_scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.h"
#include "harness/base/object_path.h"
#include "harness/record/recorder.h"

namespace headrace {
namespace {

constexpr std::size_t kPartsOfWorker = 4;  // so that one with a few large folders does not come last alone
constexpr unsigned kLevels = 8, kPagesOfLevel = 16;

}  // namespace

ObjectScan::ObjectScan(ObjectStore& store, const std::string& url, unsigned workers, unsigned retries,
                       std::uint64_t heads)
    : store_(store), seen_(workers), files_(-1, url) {
  const std::size_t slash = url.find('/', kObjectScheme.size());
  shown_ = url.substr(0, std::min(slash, url.size()));
  if (slash != std::string::npos) cut_ = url.substr(slash + 1);
  while (cut_.ends_with('/')) cut_.pop_back();
  if (!cut_.empty()) cut_ += '/';
  for (unsigned worker = 0; worker < workers; ++worker) clients_.push_back(store_.names(url, retries));
  files_.set_objects();
  files_.set_root(cut_.empty() ? shown_ : shown_ + "/" + cut_.substr(0, cut_.size() - 1));
  parts_ = {{cut_, true}};
  divide(kPartsOfWorker * workers);
  draw(heads);
}

/// Level by level, until there is enough to do at once, or no folder is left.
void ObjectScan::divide(std::size_t enough) {
  for (unsigned level = 0; level < kLevels && parts_.size() < enough; ++level) {
    std::vector<Part> finer;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      // Enough already with those that are left.
      if (!parts_[i].deep || finer.size() + (parts_.size() - i) >= enough) {
        finer.push_back(parts_[i]);
        continue;
      }
      for (Part& part : divided(parts_[i])) finer.push_back(std::move(part));
    }
    if (finer.size() == parts_.size()) return;
    parts_ = std::move(finer);
  }
}

/// A prefix with many keys outside its folders stays whole: finding the folders would list it.
std::vector<ObjectScan::Part> ObjectScan::divided(const Part& part) {
  std::vector<std::string> folders;
  std::string token;
  bool has_keys = false;
  for (unsigned page = 0; page < kPagesOfLevel; ++page) {
    const auto asked =
        clients_.front()->page(part.prefix, &folders, token, [&](const ListedObject&) { has_keys = true; });
    if (asked.error != 0) throw RunError(clients_.front()->why("list " + shown_ + "/" + part.prefix));
    if (token.empty()) break;
  }
  if (!token.empty() || folders.empty()) return {part};
  std::vector<Part> parts;
  if (has_keys) parts.push_back({part.prefix, false});
  for (std::string& folder : folders) parts.push_back({std::move(folder), true});
  return parts;
}

void ObjectScan::draw(std::uint64_t heads) {
  const std::uint64_t each = std::max<std::uint64_t>(1, heads / parts_.size());
  for (const Part& part : parts_) {
    if (files_.count() >= heads) break;
    std::string token;
    std::vector<std::string> folders;
    std::uint64_t taken = 0;
    do {
      const auto asked =
          clients_.front()->page(part.prefix, part.deep ? nullptr : &folders, token, [&](const ListedObject& object) {
            if (taken == each || files_.count() >= heads || object.key.find('\0') != std::string_view::npos) return;
            files_.add(object.key.substr(cut_.size()), object.size, object.version);
            ++taken;
          });
      if (asked.error != 0) throw RunError(clients_.front()->why("list " + shown_ + "/" + part.prefix));
    } while (taken < each && files_.count() < heads && !token.empty());
  }
  if (files_.count() == 0) throw RunError(files_.root() + ": no object lies below it");
}

std::string ObjectScan::describe() const {
  if (parts_.size() == 1)
    return "all keys lie below one prefix that has no folders: they were listed page after page, by one worker alone";
  return fmt::format("{} prefixes were listed, {} at once", parts_.size(),
                     std::min<std::size_t>(parts_.size(), clients_.size()));
}

void ObjectScan::before_listing() {
  before_heads();
  listed_ = 0;
  std::fill(seen_.begin(), seen_.end(), Seen{});
}

void ObjectScan::before_heads() { next_ = 0; }

void ObjectScan::list(Worker& worker, std::uint8_t channel) {
  Recorder& recorder = worker.recorder;
  ObjectNames& client = *clients_[worker.index];
  std::uint64_t& names = seen_[worker.index].names;
  for (std::uint64_t at; (at = next_.fetch_add(1)) < parts_.size();) {
    const Part& part = parts_[at];
    std::string token;
    do {
      if (!recorder.running()) return;
      std::vector<std::string> folders;
      const auto asked =
          client.page(part.prefix, part.deep ? nullptr : &folders, token, [&](const ListedObject&) { ++names; });
      if (asked.error != 0) throw RunError(client.why("list " + shown_ + "/" + part.prefix));
      recorder.op(asked.begin_ns, asked.end_ns, 0);
      recorder.part(channel, asked.end_ns - asked.begin_ns);
    } while (!token.empty());
    ++listed_;
  }
}

void ObjectScan::head(Worker& worker, std::uint8_t channel) {
  Recorder& recorder = worker.recorder;
  ObjectNames& client = *clients_[worker.index];
  std::string key = cut_;
  for (std::uint64_t at; recorder.running() && (at = next_.fetch_add(1)) < files_.count();) {
    const auto file = static_cast<std::uint32_t>(at);
    key.resize(cut_.size());
    key += files_.path(file);
    const auto asked = client.head(key);
    if (asked.error != 0) {
      recorder.fail({.code = asked.error, .file = file, .offset = OperationError::kNoOffset, .part = channel},
                    asked.end_ns);
      continue;
    }
    recorder.op(asked.begin_ns, asked.end_ns, 0);
    recorder.part(channel, asked.end_ns - asked.begin_ns);
  }
}

std::uint64_t ObjectScan::names() const {
  std::uint64_t all = 0;
  for (const Seen& one : seen_) all += one.names;
  return all;
}

}  // namespace headrace
