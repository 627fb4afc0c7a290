// Pages of listings and heads of objects, as they are measured.
#pragma once

#include <memory>
#include <string>

#include "harness/backends/object_store.h"
#include "harness/backends/s3/readers.h"

namespace headrace::s3 {

std::unique_ptr<ObjectNames> make_names(std::shared_ptr<const Settings> settings, const std::string& bucket,
                                        unsigned retries, Ledger& ledger);

}  // namespace headrace::s3
