// Multipart uploads: begun, completed, aborted, and those that somebody left.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/s3/objects.h"

namespace headrace::s3 {

/// What the requests of one upload carry: "uploadId=..." encoded.
std::string upload_query(std::string_view id);

/// Asks for a new upload of `key`; returns its id. `shown` names the object in the RunError.
std::string begin_upload(Call& call, const std::string& key, const std::string& shown);

/// What an upload has made, once it is complete.
struct UploadedParts {
  const std::vector<std::string>& etags;  // in the order of the parts
  std::uint64_t size = 0;                 // of all [B]
};

/// Makes the object of these parts; returns its ETag. Throws RunError, also for an error that stands in an answer of 200.
std::string complete_upload(Call& call, const std::string& key, const std::string& id, const UploadedParts& parts,
                            const std::string& shown);

// As the methods of ObjectStore.
std::vector<OpenUpload> list_uploads(SharedSettings settings, const Ledger& ledger, const std::string& url);
void abort_upload(SharedSettings settings, const Ledger& ledger, const OpenUpload& upload);

}  // namespace headrace::s3
