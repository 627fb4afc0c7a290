// Whole objects and ranges of them behind the interfaces of harness/backends/file_io.h.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/file_io.h"
#include "harness/backends/s3/requests.h"

namespace headrace::s3 {

/// Shared by readers and their engine: counts of requests, refusals to report, the stop.
class Ledger {
 public:
  void add(Requests& requests);
  /// Before they are destroyed: their counts stay.
  void remove(Requests& requests);
  RequestCounts counts() const;
  /// Only while nothing is in flight.
  std::vector<std::string> take_notes();
  /// StorageEngine::stop_with().
  void stop_with(const std::atomic<int>& stop) { stop_ = &stop; }
  const std::atomic<int>* stop() const { return stop_; }  // nullptr = no stop is possible

 private:
  void hear(Requests& requests);

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Tally>> tallies_;
  std::vector<Requests*> living_;
  std::vector<std::string> notes_;
  std::atomic<const std::atomic<int>*> stop_{nullptr};
};

/// Both get the first byte of their first object now, untimed. So a missing permission, or a server that ignores
/// ranges, is reported before anything is measured: throws RunError.
std::unique_ptr<WholeFileReader> make_whole_objects(std::shared_ptr<const Settings> settings, const FileTable& files,
                                                    const ReaderOptions& options, Ledger& ledger);
std::unique_ptr<BlockReader> make_ranges(std::shared_ptr<const Settings> settings, const FileTable& files,
                                         std::span<const std::uint32_t> selected, const ReaderOptions& options,
                                         Ledger& ledger);

}  // namespace headrace::s3
