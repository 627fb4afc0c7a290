// Any text as the manifest of a data set: none, or one of a set that can be, the same when read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "harness/workload/data/data_set/manifest.h"
#include "tests/fuzz/invariant.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = parse_manifest(text);
  if (!manifest) return 0;
  fuzzing::expect(is_manifest(text), "what is read is headrace's", std::string(text));
  const DataSetSpec& spec = manifest->spec;
  fuzzing::expect(spec.files > 0 && spec.file_size > 0 && spec.files_per_folder > 0, "the set has files", spec.id());
  const std::string written = manifest_text(*manifest);
  const auto again = parse_manifest(written);
  fuzzing::expect(again && again->complete == manifest->complete && again->spec.id() == spec.id(),
                  "read again, it says the same", written);
  return 0;
}
