#include "harness/backends/objects/scratch.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/object_path.h"

namespace headrace::objects {
namespace {

constexpr const char* kKind = "objects";   // of the mark
constexpr const char* kUser = "user";      // of a word
constexpr std::uint64_t kMost = 64 << 10;  // of a mark [B]
constexpr const char* kMarkName = "/.headrace";

files::Holder this_user() {
  files::Holder user = files::Holder::this_process();
  char space[64] = "";
  if (::readlink("/proc/self/ns/pid", space, sizeof space - 1) > 0) user.host += fmt::format(", {}", space);
  return user;
}

std::string random_word() {
  std::uint64_t drawn = 0;
  if (::getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) throw system_error("draw a token", "", errno);
  return fmt::format("{:016x}", drawn);
}

/// "s3://bucket/prefix" without '/' at its end. Throws UsageError when it is a whole bucket.
std::string prefix_of(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  const std::size_t slash = url.find('/', kObjectScheme.size());
  if (!is_object_path(url) || slash == std::string::npos || slash == kObjectScheme.size())
    throw UsageError(url + ": headrace writes below a prefix of its own: s3://bucket/prefix");
  return url;
}

std::optional<files::Mark> mark_of(ObjectStore& store, const std::string& url) {
  const auto found = store.get(url + kMarkName, 0, kMost);
  auto mark = found ? files::parse_mark(found->bytes) : std::nullopt;
  if (mark && (mark->kind != kKind || mark->token.empty())) mark.reset();
  return mark;
}

/// The first key below it; "" = there is none.
std::string first_below(ObjectStore& store, const std::string& url) {
  struct Found {
    std::string key;
  };
  try {
    store.list(url + "/", [](const ListedObject& object) { throw Found{std::string(object.key)}; });
  } catch (const Found& found) {
    return found.key;
  }
  return "";
}

}  // namespace

bool User::is_near() const { return holder.host == this_user().host; }

bool User::may_live() const {
  if (!is_near()) return true;
  files::Holder here = holder;
  here.host = files::Holder::this_process().host;
  return here.may_live();
}

Scratch::Scratch(ObjectStore& store, std::string url, std::string token)
    : store_(&store), url_(std::move(url)), base_(url_ + "/headrace-" + token), id_(random_word()) {}

Scratch::Scratch(Scratch&& other) noexcept
    : store_(other.store_),
      url_(std::move(other.url_)),
      base_(std::move(other.base_)),
      id_(std::move(other.id_)),
      word_(std::exchange(other.word_, std::nullopt)) {}

Scratch::~Scratch() {
  if (!word_) return;
  try {
    store_->remove({&*word_, 1}, [](std::size_t, bool) {});
  } catch (const RunError&) {  // the process is not there any more, which the next one sees
  }
}

void Scratch::say_so() {
  OwnObject word{base_ + "/users/" + id_, ""};
  const files::Mark mark{.kind = kUser, .made = true, .holder = this_user(), .token = {}, .files = {}};
  const auto etag = store_->put(word.url, files::mark_text(mark), true);
  if (!etag) throw RunError(word.url + ": something lies there already");
  word.etag = *etag;
  word_ = std::move(word);
}

Scratch Scratch::make(ObjectStore& store, const std::string& given) {
  const std::string url = prefix_of(given);
  for (unsigned tries = 0;; ++tries) {
    if (const auto mark = mark_of(store, url)) {
      Scratch scratch(store, url, mark->token);
      scratch.say_so();
      if (const auto still = mark_of(store, url); still && still->token == mark->token) return scratch;
      continue;  // another folder took its place in the meantime
    }
    const std::string foreign = first_below(store, url);
    if (!foreign.empty() && !mark_of(store, url))
      throw UsageError(fmt::format("{}: holds what headrace did not make ({}{}); give a new prefix", url, foreign,
                                   foreign == ".headrace" ? ", which is no mark of this version's" : " ..."));
    if (tries > 3)
      throw RunError(url + ": the mark that was put there is not there: does the store keep what it takes?");
    store.put(url + kMarkName,
              files::mark_text({.kind = kKind, .made = true, .holder = {}, .token = random_word(), .files = {}}), true);
  }
}

std::optional<Scratch> Scratch::find(ObjectStore& store, const std::string& given) {
  const std::string url = prefix_of(given);
  const auto mark = mark_of(store, url);
  if (!mark) return std::nullopt;
  return Scratch(store, url, mark->token);
}

std::vector<User> Scratch::users() const {
  std::vector<User> all;
  const std::string folder = base_ + "/users";
  std::vector<OwnObject> words;
  store_->list(folder, [&](const ListedObject& object) {
    if (object.key != id_ && object.key.find('/') == std::string_view::npos)
      words.push_back({folder + "/" + std::string(object.key), std::string(object.etag)});
  });
  for (OwnObject& word : words) {
    const auto found = store_->get(word.url, 0, kMost);
    const auto mark = found ? files::parse_mark(found->bytes) : std::nullopt;
    if (!mark || mark->kind != kUser || !mark->holder) continue;  // gone by now, or not a user's mark
    std::string id = word.url.substr(folder.size() + 1);
    all.push_back({std::move(id), *mark->holder, std::move(word)});
  }
  return all;
}

std::string Scratch::in_use(const User& user) { return "in use by another headrace (" + user.holder.text() + ")"; }

CleanReport Scratch::remove_mark() const {
  CleanReport report;
  std::optional<OwnObject> mark;
  store_->list(url_ + "/", [&](const ListedObject& object) {
    if (object.key == std::string_view(kMarkName).substr(1))
      mark = OwnObject{url_ + kMarkName, std::string(object.etag)};
    else
      report.left.push_back(fmt::format("{}/{}: not made by headrace", url_, object.key));
  });
  if (!report.left.empty() || !mark) return report;
  store_->remove({&*mark, 1}, [&](std::size_t, bool gone) { report.gone = gone; });
  return report;
}

CleanReport remove(ObjectStore& store, const std::vector<OwnObject>& objects, const std::vector<std::uint64_t>& sizes) {
  CleanReport report;
  store.remove(objects, [&](std::size_t number, bool gone) {
    if (gone) {
      ++report.files;
      report.bytes += sizes[number];
    } else {
      report.left.push_back(objects[number].url + ": another object by now");
    }
  });
  return report;
}

}  // namespace headrace::objects
