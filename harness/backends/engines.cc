#include "harness/backends/engines.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "harness/backends/cuda/traits.h"
#include "harness/backends/jpeg/traits.h"
#include "harness/backends/mpi/traits.h"
#include "harness/backends/nccl/traits.h"
#include "harness/backends/npz/traits.h"
#include "harness/backends/parquet/traits.h"
#include "harness/backends/png/traits.h"
#include "harness/backends/posix/traits.h"
#include "harness/backends/s3/traits.h"
#include "harness/backends/uring/traits.h"
#include "harness/backends/verbs/traits.h"
#include "harness/backends/zstd/traits.h"

namespace headrace {
namespace {

constexpr std::array kAll{posix::kTraits, posix::kMappedTraits, uring::kTraits,        s3::kTraits,   cuda::kTraits,
                          nccl::kTraits,  verbs::kTraits,       mpi::kTraits,          jpeg::kTraits, png::kTraits,
                          zstd::kTraits,  npz::kTraits,         parquet_files::kTraits};

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : "; ") + part;
  return all;
}

}  // namespace

std::span<const BackendTraits> known_backends() { return kAll; }

const StorageTraits& storage_traits(std::string_view engine) {
  const auto found =
      std::find_if(kAll.begin(), kAll.end(), [&](const BackendTraits& b) { return b.storage && engine == b.name; });
  if (found == kAll.end()) {
    std::fprintf(stderr, "%s:%d: %s is no storage engine\n", __FILE__, __LINE__, std::string(engine).c_str());
    std::abort();
  }
  return *found->storage;
}

std::vector<std::string> storage_engines(bool (*fit)(const StorageTraits&)) {
  std::vector<std::string> names;
  for (const BackendTraits& backend : kAll)
    if (backend.storage && fit(*backend.storage)) names.emplace_back(backend.name);
  return names;
}

std::string list_storage_engines(const std::vector<std::string>& engines) {
  std::vector<std::string> reported;
  for (const std::string& engine : engines) reported.push_back(engine + ": " + storage_traits(engine).how);
  return joined(reported);
}

std::string blocking_engine() {
  return storage_engines([](const StorageTraits& t) { return t.blocks() && !t.objects; }).at(0);
}

std::string queueing_engine() {
  return storage_engines([](const StorageTraits& t) { return t.queues() && !t.objects; }).at(0);
}

std::string mapping_engine() {
  return storage_engines([](const StorageTraits& t) { return t.maps; }).at(0);
}

std::string object_engine() {
  return storage_engines([](const StorageTraits& t) { return t.objects; }).at(0);
}

std::vector<std::string> known_codecs() {
  std::vector<std::string> names;
  for (const BackendTraits& backend : kAll)
    if (backend.gives == Gives::codecs) names.emplace_back(backend.name);
  return names;
}

std::vector<std::string> stream_engines() {
  std::vector<std::string> names;
  for (const BackendTraits& backend : kAll)
    if (backend.streams != nullptr) names.emplace_back(backend.name);
  return names;
}

std::string list_stream_engines() {
  std::vector<std::string> reported;
  for (const BackendTraits& backend : kAll)
    if (backend.streams != nullptr) reported.push_back(std::string(backend.name) + ": " + backend.streams);
  return joined(reported);
}

}  // namespace headrace
