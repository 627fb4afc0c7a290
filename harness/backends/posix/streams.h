// send and recv of sockets.
#pragma once

#include <memory>

#include "harness/backends/stream_io.h"

namespace headrace {

std::unique_ptr<StreamEngine> make_posix_streams();

}  // namespace headrace
