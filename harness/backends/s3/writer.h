// Objects in parts, behind the interface of harness/backends/object_writer.h.
#pragma once

#include <memory>

#include "harness/backends/object_writer.h"
#include "harness/backends/s3/readers.h"

namespace headrace::s3 {

std::unique_ptr<ObjectWriter> make_writer(std::shared_ptr<const Settings> settings, const ObjectWriterOptions& options,
                                          Ledger& ledger);

}  // namespace headrace::s3
