// The plugin's door, and the engine over libcurl.
#include <curl/curl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>

#include <mutex>
#include <string>

#include "harness/backends/object_writer.h"
#include "harness/backends/plugin.h"
#include "harness/backends/s3/listing.h"
#include "harness/backends/s3/names.h"
#include "harness/backends/s3/objects.h"
#include "harness/backends/s3/readers.h"
#include "harness/backends/s3/uploads.h"
#include "harness/backends/s3/writer.h"
#include "harness/base/error.h"

namespace headrace::s3 {
namespace {

class S3Engine final : public StorageEngine, public ObjectStore {
 public:
  S3Engine() { curl_global_init(CURL_GLOBAL_DEFAULT); }

  std::optional<std::string> unusable() const override { return std::nullopt; }
  std::unique_ptr<WholeFileReader> whole_file_reader(const FileTable& files, const ReaderOptions& options) override {
    return make_whole_objects(settings(), files, options, ledger_);
  }
  std::unique_ptr<BlockReader> block_reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                            const ReaderOptions& options) override {
    return make_ranges(settings(), files, selected, options, ledger_);
  }
  std::unique_ptr<BlockWriter> block_writer(const WriterOptions&) override {
    throw RunError("engine s3 writes objects, and no blocks of files");
  }
  std::vector<std::string> take_notes() override { return ledger_.take_notes(); }

  void stop_with(const std::atomic<int>& stop) override { ledger_.stop_with(stop); }

  ObjectStore* object_store() override { return this; }
  std::string list(const std::string& url, const std::function<void(const ListedObject&)>& each) override {
    return list_objects(settings(), url, ledger_, each);
  }
  std::string describe(const std::string& url) const override {
    const auto known = settings();
    const Address address(*known, parse_url(url).bucket);
    return fmt::format("{}, {} style, region {}, {}", address.origin(),
                       address.virtual_host() ? "virtual-host" : "path", known->region,
                       known->is_signed() ? "signed" : "not signed: no keys were found");
  }
  RequestCounts counts() const override { return ledger_.counts(); }

  std::optional<std::string> put(const std::string& url, std::string_view bytes, bool only_new) override {
    return put_object(settings(), ledger_, url, bytes, only_new);
  }
  std::optional<StoredBytes> get(const std::string& url, std::uint64_t offset, std::uint64_t most) override {
    return get_object(settings(), ledger_, url, offset, most);
  }
  void remove(std::span<const OwnObject> objects, const std::function<void(std::size_t, bool)>& each) override {
    remove_objects(settings(), ledger_, objects, each);
  }
  std::vector<OpenUpload> uploads(const std::string& url) override { return list_uploads(settings(), ledger_, url); }
  void abort(const OpenUpload& upload) override { abort_upload(settings(), ledger_, upload); }
  std::unique_ptr<ObjectNames> names(const std::string& url, unsigned retries) override {
    return make_names(settings(), parse_url(url).bucket, retries, ledger_);
  }
  std::unique_ptr<ObjectWriter> object_writer(const ObjectWriterOptions& options) override {
    return make_writer(settings(), options, ledger_);
  }

 private:
  /// Read when first needed, so that who reads files needs no endpoint that is right.
  std::shared_ptr<const Settings> settings() const {
    const std::lock_guard lock(mutex_);
    if (!settings_) settings_ = std::make_shared<const Settings>(read_settings());
    return settings_;
  }

  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Settings> settings_;
  Ledger ledger_;
};

class S3Plugin final : public Plugin {
 public:
  std::string version() const override {
    return fmt::format("libcurl {}, OpenSSL {}", curl_version_info(CURLVERSION_NOW)->version,
                       OpenSSL_version(OPENSSL_VERSION_STRING));
  }
  std::unique_ptr<StorageEngine> storage_engine() override { return std::make_unique<S3Engine>(); }
};

}  // namespace
}  // namespace headrace::s3

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::s3::S3Plugin plugin;
  return &plugin;
}
