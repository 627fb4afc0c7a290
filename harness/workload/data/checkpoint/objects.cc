#include "harness/workload/data/checkpoint/objects.h"

#include <algorithm>
#include <set>

#include "harness/workload/data/data_set/block_pattern.h"

namespace headrace::checkpoint {
namespace {

/// "run-ID" of "run-ID/checkpoint/rank-00000.bin"; "" = it is of no run.
std::string run_of(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (!key.starts_with("run-") || slash == std::string_view::npos) return "";
  return std::string(key.substr(4, slash - 4));
}

bool has_key_of_ours(std::string_view key) {
  const std::size_t slash = key.rfind("/checkpoint/rank-");
  return slash != std::string_view::npos && key.ends_with(".bin") &&
         key.find('/', slash + sizeof "/checkpoint/") == std::string_view::npos;
}

/// Its key has the token of the mark, and its first block marks a checkpoint. One that is too short has the key alone.
bool is_ours(const objects::Scratch& scratch, const ListedObject& object) {
  if (!has_key_of_ours(object.key)) return false;
  if (object.size < kLabelBytes) return true;
  const auto found = scratch.store().get(scratch.base() + "/" + std::string(object.key), 0, kBlock);
  return found && found->bytes.size() >= kLabelBytes &&
         read_label(reinterpret_cast<const unsigned char*>(found->bytes.data())).has_value();
}

}  // namespace

CleanReport remove_left_objects(const objects::Scratch& scratch, bool far_too) {
  CleanReport report;
  std::set<std::string> living;
  std::vector<OwnObject> words, own;
  std::vector<std::uint64_t> sizes;
  for (const objects::User& user : scratch.users()) {
    if (user.may_live() && !(far_too && !user.is_near())) {
      living.insert(user.id);
      report.left.push_back(scratch.of_run(user.id) + ": " + objects::Scratch::in_use(user));
    } else {
      words.push_back(user.word);
    }
  }
  const std::string& base = scratch.base();
  for (const OpenUpload& upload : scratch.store().uploads(base)) {
    const std::string_view key = std::string_view(upload.url).substr(std::min(upload.url.size(), base.size() + 1));
    const std::string run = run_of(key);
    const bool dead_run = !run.empty() && scratch.of_run(run) != scratch.own() && living.count(run) == 0;
    if (dead_run || (run.empty() && living.empty() && key.starts_with("data/"))) {
      scratch.store().abort(upload);
      ++report.files;
    }
  }
  scratch.store().list(base, [&](const ListedObject& object) {
    const std::string run = run_of(object.key);
    if (run.empty() || living.count(run) != 0 || scratch.of_run(run) == scratch.own()) return;
    if (!is_ours(scratch, object)) {
      report.left.push_back(base + "/" + std::string(object.key) + ": not made by headrace");
      return;
    }
    own.push_back({base + "/" + std::string(object.key), std::string(object.etag)});
    sizes.push_back(object.size);
  });
  report.add(objects::remove(scratch.store(), own, sizes));
  scratch.store().remove(words, [](std::size_t, bool) {});
  return report;
}

}  // namespace headrace::checkpoint
