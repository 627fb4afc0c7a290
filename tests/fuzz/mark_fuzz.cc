// Any text as the mark of a folder: no mark, or one that says the same when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "harness/base/files/mark.h"
#include "tests/fuzz/invariant.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace;
  const auto mark = files::parse_mark({reinterpret_cast<const char*>(data), size});
  if (!mark) return 0;
  const std::string text = files::mark_text(*mark);
  const auto again = files::parse_mark(text);
  fuzzing::expect(again.has_value(), "what is written is read", text);
  fuzzing::expect(again->kind == mark->kind && again->made == mark->made && again->files == mark->files &&
                      again->holder.has_value() == mark->holder.has_value(),
                  "read again, it says the same", text);
  if (mark->holder) fuzzing::expect(again->holder->text() == mark->holder->text(), "and names the same holder", text);
  return 0;
}
