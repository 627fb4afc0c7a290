// Prefixes of object stores that headrace marked: everything that it writes into a store lies below one of these.
//
//   s3://bucket/prefix/.headrace               the mark: says that the prefix is headrace's, and reports its token
//   s3://bucket/prefix/headrace-TOKEN/users/   a word of each process that uses it, with who that is
//   s3://bucket/prefix/headrace-TOKEN/data/    data sets
//   s3://bucket/prefix/headrace-TOKEN/run-ID/  what one process makes for itself: checkpoints
//
// The token is drawn when the prefix is marked, and is in each key: an upload that nobody completed shows no content, and
// its key is all that can say whose it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/backends/object_store.h"
#include "harness/base/files/mark.h"
#include "harness/base/files/marked_folder.h"

namespace headrace::objects {

/// A process that uses the prefix, or that was killed while it did.
struct User {
  std::string id;
  files::Holder
      holder;  // its host: the name, and which processes it sees: containers may share the one, and not the other
  OwnObject word;

  /// Of what can be seen from here; nothing is known of others.
  bool is_near() const;
  /// False: it was near, and is not there any more.
  bool may_live() const;
};

class Scratch {
 public:
  /// Marks `url` (s3://bucket/prefix), or takes one that is marked, and leaves word that this process uses it, until it goes.
  /// Throws UsageError when something lies there that headrace did not make, or it is no prefix; RunError in the store's words.
  static Scratch make(ObjectStore& store, const std::string& url);
  /// One that is marked; leaves no word.
  static std::optional<Scratch> find(ObjectStore& store, const std::string& url);
  ~Scratch();
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&&) = delete;

  ObjectStore& store() const { return *store_; }
  const std::string& url() const { return url_; }
  std::string data() const { return base_ + "/data"; }
  /// What this process alone makes.
  std::string own() const { return of_run(id_); }
  std::string of_run(const std::string& id) const { return base_ + "/run-" + id; }
  /// Where everything but the mark lies.
  const std::string& base() const { return base_; }

  /// All but this one.
  std::vector<User> users() const;
  /// "in use by another headrace (pid 12 on node1 since 2026-01-31 12:00:00 UTC)".
  static std::string in_use(const User& user);
  /// Takes away the mark, where nothing else is left; what is left is named otherwise.
  CleanReport remove_mark() const;

 private:
  Scratch(ObjectStore& store, std::string url, std::string token);
  void say_so();

  ObjectStore* store_;
  std::string url_, base_, id_;
  std::optional<OwnObject> word_;
};

/// Takes away `objects`, those that are still what they were when they were listed; counts them, and names what stays.
CleanReport remove(ObjectStore& store, const std::vector<OwnObject>& objects, const std::vector<std::uint64_t>& sizes);

}  // namespace headrace::objects
