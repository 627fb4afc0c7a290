// Every backend's kind and abilities, known without loading it: one table, with rows from each backend's folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

class StorageEngine;
class StreamEngine;

/// The service that a backend gives. Storage and sockets have several engines, and samples several codecs, chosen by
/// name; each other service has one backend.
enum class Gives { engines, gpus, gpu_collectives, rdma, messages, codecs, tables };

/// The abilities of a storage engine: the names that `engine:` offers, and the options that are refused with them.
struct StorageTraits {
  const char* how;                   // "each worker reads and waits"
  std::uint32_t most_in_flight = 1;  // requests of one worker
  bool direct = false;               // can bypass the page cache
  bool writes = false;
  bool polls = false;    // `submission: sqpoll` and `completion: iopoll`
  bool maps = false;     // reads are page faults of mapped files
  bool objects = false;  // reads objects of a store, and no files

  /// Does a worker have more than one request in flight?
  constexpr bool queues() const { return most_in_flight > 1; }
  /// Is a read a call that returns with the data? So read the loaders whose calls harness/backends/read_profiles.h makes.
  constexpr bool blocks() const { return !queues() && !maps; }
};

/// One backend.
struct BackendTraits {
  const char* name;             // "io_uring"; of its plugin and of its .cmake, too
  const char* needs = nullptr;  // the dependency of a build; nullptr = it is always built
  Gives gives = Gives::engines;
  bool late = false;  // loaded only when it is asked for: starting it takes time, and most runs need none
  std::optional<StorageTraits> storage{};
  const char* streams = nullptr;                               // how it moves bytes over sockets, if it does
  std::unique_ptr<StorageEngine> (*make_storage)() = nullptr;  // for engines that are always built
  std::unique_ptr<StreamEngine> (*make_streams)() = nullptr;
};

/// All of them, in the order in which they are reported. The first is always there, and the default of engines.
std::span<const BackendTraits> known_backends();

/// The traits of a storage engine in the table; another name is our own bug.
const StorageTraits& storage_traits(std::string_view engine);
/// Names of the storage engines that `fit`.
std::vector<std::string> storage_engines(bool (*fit)(const StorageTraits&));
/// "posix: each worker reads and waits; io_uring: each keeps ...", of these.
std::string list_storage_engines(const std::vector<std::string>& engines);
/// The first engine whose reads return with the data, the first with several in flight, the first that maps files.
std::string blocking_engine();
std::string queueing_engine();
std::string mapping_engine();
/// The one that reads objects.
std::string object_engine();

/// Those that decode samples, by name.
std::vector<std::string> known_codecs();

/// The engines that move bytes over sockets, and how.
std::vector<std::string> stream_engines();
std::string list_stream_engines();

}  // namespace headrace
