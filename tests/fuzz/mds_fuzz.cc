// Any bytes as an MDS shard.
#include <cstddef>
#include <cstdint>

#include "harness/backends/formats/mds.h"
#include "tests/fuzz/parsed.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace::formats;
  static const auto parser = mds_parser(mds_columns(R"({"format": "mds", "column_sizes": [2, null, null]})"));
  headrace::fuzzing::parse(*parser, data, size);
  mds_columns({reinterpret_cast<const char*>(data), size});
  return 0;
}
