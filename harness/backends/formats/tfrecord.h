// TFRecord files: records, each with its length, a CRC of the length, and a CRC of its bytes (TensorFlow's
// core/lib/io/record_writer.h). And tf.train.Example, which records of training data are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::formats {

inline constexpr std::uint64_t kRecordHead = 12, kRecordFoot = 4;  // [B]

/// Is this the begin of a record, by its length's CRC? `length`: of its bytes.
bool record_head(std::span<const unsigned char, kRecordHead> head, std::uint64_t& length) noexcept;

/// Has it its CRC? `record`: its bytes and what follows them.
bool is_whole_record(std::span<const unsigned char> record) noexcept;

/// One feature of a tf.train.Example: it has values of one of these kinds.
struct Feature {
  std::string name;
  std::vector<std::span<const unsigned char>> bytes;
  std::vector<std::int64_t> numbers;
  std::vector<float> floats;
};
/// By their names; nothing: the record is no tf.train.Example.
std::optional<std::vector<Feature>> example_features(std::span<const unsigned char> record);

/// Appends one record.
void put_record(std::string_view bytes, std::string& out);

/// A tf.train.Example, serialized as protocol buffers are.
class Example {
 public:
  void add_bytes(std::string_view feature, std::string_view value);
  void add_number(std::string_view feature, std::int64_t value);
  std::string serialized() const;

 private:
  void add(std::string_view feature, std::string_view kind);
  std::string entries_;
};

}  // namespace headrace::formats
