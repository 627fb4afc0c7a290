// The plugin's door, and row groups of Parquet files read and decoded by Apache Arrow, as pyarrow does.
#include <arrow/api.h>
#include <arrow/io/caching.h>
#include <arrow/util/future.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <cstdio>
#include <new>
#include <stdexcept>

#include "harness/backends/parquet/counted_file.h"
#include "harness/backends/plugin.h"
#include "harness/backends/table.h"

namespace headrace::parquet_files {
namespace {

/// Throws for a call that must succeed, whether it throws or returns a Status.
void must(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

/// Positions of the columns of these names (all below a nested one, too); all of them where none is named.
std::vector<int> positions(const parquet::SchemaDescriptor& schema, std::span<const std::string> columns) {
  std::vector<int> chosen;
  for (int i = 0; i < schema.num_columns(); ++i)
    if (columns.empty()) chosen.push_back(i);
  for (const std::string& name : columns) {
    const std::size_t before = chosen.size();
    for (int i = 0; i < schema.num_columns(); ++i) {
      const std::string path = schema.Column(i)->path()->ToDotString();
      if (path == name || path.starts_with(name + ".")) chosen.push_back(i);
    }
    if (chosen.size() == before) throw std::runtime_error("it has no column '" + name + "'");
  }
  return chosen;
}

/// Runs `attempt`, which may throw, and keeps its error; false: it failed.
template <class Attempt>
bool tried(const std::shared_ptr<CountedFile>* file, TableError& error, Attempt attempt) noexcept {
  try {
    attempt();
    return true;
  } catch (const std::bad_alloc&) {
    error.bytes.set(0, "there is no memory for it");
  } catch (const std::exception& e) {
    error.bytes.set(file != nullptr && *file ? (*file)->at() : 0, e.what());
  }
  error.code = file != nullptr && *file ? (*file)->code() : error.code;
  return false;
}

class Reader final : public RowGroupReader {
 public:
  explicit Reader(std::span<const std::string> columns) : columns_(columns.begin(), columns.end()) {}

  bool read(int root_fd, const char* path, std::uint64_t size, int group, std::uint64_t& bytes,
            TableError& error) noexcept override {
    error = {};
    reader_.reset();
    file_.reset();
    const bool good = tried(&file_, error, [&] {
      auto opened = CountedFile::open(root_fd, path, static_cast<std::int64_t>(size), error.code);
      must(opened.status());
      file_ = *opened;
      parquet::arrow::FileReaderBuilder builder;
      must(builder.Open(file_));
      // One thread decodes: a loader's other workers have the other cores. The read-ahead is set below.
      parquet::ArrowReaderProperties properties(false);
      properties.set_pre_buffer(false);
      builder.properties(properties);
      must(builder.Build(&reader_));
      chosen_ = positions(*reader_->parquet_reader()->metadata()->schema(), columns_);
      group_ = group;
      const arrow::io::IOContext context;
      reader_->parquet_reader()->PreBuffer({group}, chosen_, context, arrow::io::CacheOptions::Defaults());
      must(reader_->parquet_reader()->WhenBuffered({group}, chosen_).status());
    });
    bytes = file_ ? file_->bytes() : 0;
    return good;
  }

  bool decode(std::uint64_t& rows, TableError& error) noexcept override {
    error = {};
    return tried(&file_, error, [&] {
#if ARROW_VERSION_MAJOR >= 24
      auto table = reader_->ReadRowGroup(group_, chosen_);
      must(table.status());
      rows = static_cast<std::uint64_t>((*table)->num_rows());
#else
      std::shared_ptr<arrow::Table> table;
      must(reader_->ReadRowGroup(group_, chosen_, &table));
      rows = static_cast<std::uint64_t>(table->num_rows());
#endif
    });
  }

 private:
  const std::vector<std::string> columns_;
  std::shared_ptr<CountedFile> file_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::vector<int> chosen_;
  int group_ = 0;
};

class Parquet final : public TableFormat {
 public:
  bool row_groups(int root_fd, const char* path, std::uint64_t size, std::span<const std::string> columns,
                  std::vector<RowGroup>& groups, TableError& error) const noexcept override {
    error = {};
    std::shared_ptr<CountedFile> file;
    return tried(&file, error, [&] {
      auto opened = CountedFile::open(root_fd, path, static_cast<std::int64_t>(size), error.code);
      must(opened.status());
      file = *opened;
      const auto reader = parquet::ParquetFileReader::Open(file);
      const auto metadata = reader->metadata();
      const std::vector<int> chosen = positions(*metadata->schema(), columns);
      for (int i = 0; i < metadata->num_row_groups(); ++i) {
        const auto group = metadata->RowGroup(i);
        RowGroup reported{.rows = static_cast<std::uint64_t>(std::max<std::int64_t>(0, group->num_rows())), .bytes = 0};
        for (const int column : chosen)
          reported.bytes += static_cast<std::uint64_t>(
              std::max<std::int64_t>(0, group->ColumnChunk(column)->total_compressed_size()));
        groups.push_back(reported);
      }
    });
  }
  std::unique_ptr<RowGroupReader> reader(std::span<const std::string> columns) const override {
    return std::make_unique<Reader>(columns);
  }
};

class ParquetPlugin final : public Plugin {
 public:
  std::string version() const override { return "Apache Arrow " ARROW_VERSION_STRING; }
  std::unique_ptr<TableFormat> tables() override { return std::make_unique<Parquet>(); }
};

}  // namespace
}  // namespace headrace::parquet_files

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::parquet_files::ParquetPlugin plugin;
  return &plugin;
}
