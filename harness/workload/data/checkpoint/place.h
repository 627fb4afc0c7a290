// Where the shards of a checkpoint go: files of a folder, or objects of a store.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/record/data_report.h"
#include "harness/record/recorder.h"

namespace headrace {
class Buffers;
class Node;
}  // namespace headrace

namespace headrace::checkpoint {

struct SaveParams;

/// A save calls, on each rank's thread: create, write, sync, publish. All throw RunError that names the shard; leave()
/// then removes the unpublished files.
class Place {
 public:
  virtual ~Place() = default;
  /// Untimed, before the first save: `source` has the content, a buffer for each rank.
  virtual void open(const SaveParams& params, const Buffers& source, Node& node) = 0;
  virtual void attach(unsigned /*rank*/) {}
  /// Untimed, before each save: removes entries in its way.
  virtual void clear() = 0;
  /// Untimed, when a rank's state is new: `from`, that it will write.
  virtual void prepare(unsigned /*rank*/, const unsigned char* /*from*/) {}
  /// After all ranks saved, so that they can once more.
  virtual void again() noexcept = 0;

  virtual void create(unsigned rank) = 0;
  /// False when it was stopped.
  virtual bool write(unsigned rank, const unsigned char* from, Recorder& recorder) = 0;
  /// Is that a step of its own?
  virtual bool syncs() const = 0;
  virtual void sync(unsigned /*rank*/) {}
  virtual void publish(unsigned rank) = 0;
  virtual void leave(unsigned rank) noexcept = 0;

  /// The published file of a rank, and where its part begins, for messages.
  virtual std::string shown(unsigned rank) const = 0;
  virtual std::uint64_t begin_of(unsigned /*rank*/) const { return 0; }
  virtual std::uint64_t read(unsigned rank, std::uint64_t offset, std::span<unsigned char> to) const = 0;

  /// For a trial of the speed: saves `bytes` of a rank from `chunk`, again and again, while `goes_on` returns true.
  /// Returns how many. forget() removes all of them.
  virtual std::uint64_t try_to_save(unsigned rank, std::uint64_t bytes, std::span<const unsigned char> chunk,
                                    const std::function<bool()>& goes_on) = 0;
  virtual void forget(unsigned rank) noexcept = 0;

  /// Requests that could not be met.
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  std::vector<std::string> notes_;
};

std::unique_ptr<Place> place_of_files(const SaveParams& params, Node& node);
std::unique_ptr<Place> place_of_objects(const SaveParams& params, Node& node);

}  // namespace headrace::checkpoint
