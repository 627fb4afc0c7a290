// The names of a bucket, listed prefix by prefix, and the reported facts of some of its objects.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/object_store.h"
#include "harness/machine/node.h"
#include "harness/record/data_report.h"
#include "harness/record/file_table.h"
#include "harness/record/worker.h"

namespace headrace {

/// Keeps no keys except those of the objects whose heads are requested.
class ObjectScan {
 public:
  /// Finds prefixes to list at once, a few for each of `workers` where there are that many folders. It also finds the
  /// keys of up to `heads` objects among the first of each. Throws RunError.
  ObjectScan(ObjectStore& store, const std::string& url, unsigned workers, unsigned retries, std::uint64_t heads);

  /// The objects whose heads are asked for.
  const FileTable& files() const { return files_; }
  /// "1000 prefixes were listed, 8 at once".
  std::string describe() const;

  /// Untimed, before all workers list, or ask.
  void before_listing();
  void before_heads();
  /// Lists one prefix after the other, page by page, each an operation of the latency channel `part`. Throws RunError.
  void list(Worker& worker, std::uint8_t part);
  void head(Worker& worker, std::uint8_t part);

  /// The keys of the last listing, and whether it came to its end.
  std::uint64_t names() const;
  bool listed_all() const { return listed_.load() == parts_.size(); }

 private:
  /// Keys that begin so; not deep: but those of folders below.
  struct Part {
    std::string prefix;
    bool deep = true;
  };
  /// On a cache line of its own.
  struct alignas(128) Seen {
    std::uint64_t names = 0;
  };
  void divide(std::size_t enough);
  std::vector<Part> divided(const Part& part);
  void draw(std::uint64_t heads);

  ObjectStore& store_;
  std::string shown_, cut_;                            // the prefix of keys in messages; their own common begin
  std::vector<std::unique_ptr<ObjectNames>> clients_;  // of each worker
  std::vector<Seen> seen_;
  std::vector<Part> parts_;
  FileTable files_;
  alignas(128) std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> listed_{0};
};

}  // namespace headrace
