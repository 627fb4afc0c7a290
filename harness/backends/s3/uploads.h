// Multipart uploads: begun, completed, aborted, and those that somebody left.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/s3/objects.h"

namespace headrace::s3 {

/// What the requests of one upload carry: "uploadId=..." encoded.
std::string upload_query(std::string_view id);

/// Asks for a new upload of `key`; returns its id. `shown` names the object in the RunError.
std::string begin_upload(Call& call, const std::string& key, const std::string& shown);

/// Makes the object of the parts with these ETags, in their order; returns its ETag. Throws RunError, also for an error
/// that stands in an answer of 200.
std::string complete_upload(Call& call, const std::string& key, const std::string& id,
                            const std::vector<std::string>& etags, const std::string& shown);

// As the methods of ObjectStore.
std::vector<OpenUpload> list_uploads(SharedSettings settings, const Ledger& ledger, const std::string& url);
void abort_upload(SharedSettings settings, const Ledger& ledger, const OpenUpload& upload);

}  // namespace headrace::s3
