// Which format the shards of a data set have.
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/backends/formats/bytes_at.h"

namespace headrace::formats {

enum class Format : std::uint8_t { none, tar, tfrecord, mds };
std::string_view to_string(Format format);

/// By a name's end; none: it does not report.
Format format_by_name(std::string_view name) noexcept;

/// By the first bytes.
Format format_by_content(const BytesAt& from);

/// Files and folders without data, which loaders skip. They belong to desktops, NFS and FUSE clients, Spark,
/// Databricks, version control and notebooks, or are hidden. By the name alone, without its folder. Why, or "".
std::string_view by_product(std::string_view name) noexcept;
/// The answer of by_product() for a file that a browser, wget, aria2 or a hub's client has not completed.
inline constexpr std::string_view kUnfinished = "an unfinished download";

/// The names that TensorFlow Datasets and Hugging Face's datasets give until a file or folder is complete:
/// "a.incomplete", "1.0.0.incompleteAB12CD", "incomplete.<hex>.1.0.0".
bool is_incomplete(std::string_view name) noexcept;

/// The same of a path or an object's key, each part of it. A key that ends in '/' is the marker of a folder.
std::string_view by_product_on_path(std::string_view path) noexcept;

/// By its name's end a file next to shards or images that holds none of them: .json, .idx, .txt, .parquet ...
bool is_side_file(std::string_view name) noexcept;

/// Extensions that torchvision's ImageFolder takes.
bool has_image_extension(std::string_view name) noexcept;

/// A data format that no workload parses.
struct Foreign {
  std::string_view name;     // "HDF5"; "": none that is known
  std::string_view nearest;  // how to measure it all the same
};
/// By the name, then by the first bytes.
Foreign foreign_format(std::string_view name, const BytesAt& from);

}  // namespace headrace::formats
