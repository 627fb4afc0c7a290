// Shards as objects: each an upload of parts, that is an object when the store has put them together.
#include <fmt/format.h>

#include <algorithm>

#include "harness/backends/loader.h"
#include "harness/backends/object_writer.h"
#include "harness/backends/objects/scratch.h"
#include "harness/base/error.h"
#include "harness/machine/node.h"
#include "harness/workload/data/checkpoint/folder.h"
#include "harness/workload/data/checkpoint/objects.h"
#include "harness/workload/data/checkpoint/place.h"
#include "harness/workload/data/checkpoint_saver.h"

namespace headrace::checkpoint {
namespace {

class Objects final : public Place {
 public:
  Objects(const SaveParams& params, Node& node)
      : scratch_(node.object_scratch()), store_(scratch_.store()), p_(params), begun_(params.ranks) {
    remove_left_objects(scratch_, false);
    make_writers();
  }
  ~Objects() override {
    writers_.clear();  // transfers in flight are given up
    try {
      for (const OpenUpload& upload : store_.uploads(scratch_.own())) store_.abort(upload);
      std::vector<OwnObject> own;
      store_.list(scratch_.own(), [&](const ListedObject& object) {
        own.push_back({scratch_.own() + "/" + std::string(object.key), std::string(object.etag)});
      });
      store_.remove(own, [](std::size_t, bool) {});
    } catch (const RunError&) {  // objects that cannot be removed stay for the next run, or `clean`
    }
  }

  void open(const SaveParams& params, const Buffers&, Node&) override {
    p_ = params;
    make_writers();
  }
  void clear() override {}  // an upload blocks nothing, and its completion replaces the object before
  void again() noexcept override {}
  void prepare(unsigned rank, const unsigned char* from) override { writers_[rank]->checksums_of(from, p_.shard_size); }

  void create(unsigned rank) override {
    writers_[rank]->begin(shown(rank), p_.shard_size);
    begun_[rank] = true;
  }
  bool write(unsigned rank, const unsigned char* from, Recorder& recorder) override {
    std::uint64_t at = 0;
    bool failed = false;
    loops_[rank].run(
        *writers_[rank],
        [&](BlockRequest& request) {
          if (at >= p_.shard_size || failed || !recorder.running()) return false;
          request.offset = at;
          request.length = static_cast<std::uint32_t>(std::min(p_.block_size, p_.shard_size - at));
          request.from = from + at;
          at += request.length;
          return true;
        },
        [&](const BlockCompletion& part) {
          failed |= part.error != 0;
          if (part.error == 0) recorder.op(part.begin_ns, part.end_ns, static_cast<std::uint64_t>(part.result));
        });
    if (failed) throw RunError(writers_[rank]->why());
    return at >= p_.shard_size;
  }
  bool syncs() const override { return false; }  // a store that has completed an object has it
  void publish(unsigned rank) override {
    writers_[rank]->finish();
    begun_[rank] = false;
  }
  void leave(unsigned rank) noexcept override {
    if (begun_[rank]) writers_[rank]->give_up();
    begun_[rank] = false;
  }

  std::string shown(unsigned rank) const override { return scratch_.own() + "/checkpoint/" + Folder::name(rank); }
  std::uint64_t read(unsigned rank, std::uint64_t offset, std::span<unsigned char> to) const override {
    const auto found = store_.get(shown(rank), offset, to.size());
    if (!found) throw RunError("get " + shown(rank) + ": the object is not there any more");
    std::copy(found->bytes.begin(), found->bytes.end(), to.begin());
    return found->bytes.size();
  }

  std::uint64_t try_to_save(unsigned rank, std::uint64_t bytes, std::span<const unsigned char> chunk,
                            const std::function<bool()>& goes_on) override {
    ObjectWriter& writer = *writers_[rank];
    writer.begin(shown(rank), bytes);
    std::uint64_t at = 0;
    std::uint32_t slots = 0;
    while (at < bytes && (at == 0 || goes_on())) {
      std::vector<BlockRequest> parts;
      for (slots = 0; slots < p_.queue_depth && at < bytes; ++slots) {
        const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(p_.block_size, bytes - at));
        parts.push_back({.slot = slots, .offset = at, .length = length, .from = chunk.data()});
        at += length;
      }
      for (const BlockCompletion& part : writer.exchange(parts, slots))
        if (part.error != 0) {
          writer.give_up();
          throw RunError(writer.why());
        }
    }
    if (at < bytes)
      writer.give_up();
    else
      writer.finish();
    return at;
  }
  void forget(unsigned rank) noexcept override {
    writers_[rank]->give_up();
    try {
      std::vector<OwnObject> own;
      if (const auto there = store_.get(shown(rank), 0, 1)) own.push_back({shown(rank), there->etag});
      store_.remove(own, [](std::size_t, bool) {});
    } catch (const RunError&) {
    }
  }

 private:
  void make_writers() {
    writers_.clear();
    loops_.clear();
    for (unsigned rank = 0; rank < p_.ranks; ++rank) {
      writers_.push_back(
          store_.object_writer({.queue_depth = p_.queue_depth, .part_size = p_.block_size, .retries = p_.retries}));
      loops_.emplace_back(p_.queue_depth);
    }
  }

  const objects::Scratch& scratch_;
  ObjectStore& store_;
  SaveParams p_;
  std::vector<char> begun_;  // by rank
  std::vector<std::unique_ptr<ObjectWriter>> writers_;
  std::vector<BlockLoop> loops_;
};

}  // namespace

std::unique_ptr<Place> place_of_objects(const SaveParams& params, Node& node) {
  return std::make_unique<Objects>(params, node);
}

}  // namespace headrace::checkpoint
