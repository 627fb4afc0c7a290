// Prefixes of object stores that headrace marked: everything that it writes into a store is below one of these.
//
//   s3://bucket/prefix/.headrace               the mark: shows that the prefix is headrace's, and its token
//   s3://bucket/prefix/headrace-TOKEN/users/   a mark of each process that uses it, with its identity
//   s3://bucket/prefix/headrace-TOKEN/data/    data sets
//   s3://bucket/prefix/headrace-TOKEN/run-ID/  one process's own objects: checkpoints
//The token is drawn when the prefix is marked, and is in each key. An incomplete upload has no content; only its key
//shows its owner.
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

  /// True when it can be seen from here; of others nothing is known.
  bool is_near() const;
  /// False: it was near, and is not there any more.
  bool may_live() const;
};

class Scratch {
 public:
  /// Marks `url` (s3://bucket/prefix), or takes one that is marked, and marks that this process uses it, until it goes.
  /// Throws UsageError when it has objects that headrace did not make, or it is no prefix; RunError of the store.
  static Scratch make(ObjectStore& store, const std::string& url);
  /// One that is marked; leaves no word.
  static std::optional<Scratch> find(ObjectStore& store, const std::string& url);
  ~Scratch();
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&&) = delete;

  ObjectStore& store() const { return *store_; }
  const std::string& url() const { return url_; }
  std::string data() const { return base_ + "/data"; }
  /// This process's own objects.
  std::string own() const { return of_run(id_); }
  std::string of_run(const std::string& id) const { return base_ + "/run-" + id; }
  /// The prefix of everything but the mark.
  const std::string& base() const { return base_; }

  /// All but this one.
  std::vector<User> users() const;
  /// "in use by another headrace (pid 12 on node1 since 2026-01-31 12:00:00 UTC)".
  static std::string in_use(const User& user);
  /// Removes the mark, where nothing else is left; other entries are named.
  CleanReport remove_mark() const;

 private:
  Scratch(ObjectStore& store, std::string url, std::string token);
  void say_so();

  ObjectStore* store_;
  std::string url_, base_, id_;
  std::optional<OwnObject> word_;
};

/// Removes those of `objects` that are unchanged since they were listed; counts them, and names the rest.
CleanReport remove(ObjectStore& store, const std::vector<OwnObject>& objects, const std::vector<std::uint64_t>& sizes);

}  // namespace headrace::objects
