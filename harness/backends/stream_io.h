// How a network workload moves bytes over connected TCP sockets: the interface that the posix and
// io_uring engines implement. At most one virtual call per block; nothing is allocated after
// attach(). Header-only, so that plugins can use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace {

/// Moves bytes for one thread, one call at a time. Sockets are blocking, with a time limit on each
/// call (TcpMesh).
class StreamMover {
 public:
  virtual ~StreamMover() = default;
  /// Called untimed on the thread that is going to move bytes. Throws RunError when the engine
  /// cannot be set up.
  virtual void attach() {}
  /// Bytes moved: at least one, maybe fewer than requested. 0 when the other end closed the connection, or -errno.
  /// -EAGAIN: nothing moved for a fifth of a second. The caller may repeat the call, or give up.
  virtual std::int64_t send(int socket, std::span<const char> data) = 0;
  virtual std::int64_t receive(int socket, std::span<char> data) = 0;
};

/// A way of moving bytes over sockets; `engine:` of tcp_stream.
class StreamEngine {
 public:
  virtual ~StreamEngine() = default;
  virtual std::unique_ptr<StreamMover> mover() = 0;
  /// Fall-backs taken since the last call, each once: reported, never silent.
  virtual std::vector<std::string> take_notes() { return {}; }
};

}  // namespace headrace
