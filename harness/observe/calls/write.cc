#include "harness/observe/calls/write.h"

#include <fmt/format.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "harness/base/error.h"

namespace headrace::observe::calls {
namespace {

constexpr std::size_t kPiece = 1 << 18;
constexpr int kReadWrite = 2;  // as the kernel numbers it in open()'s flags
constexpr int kGzip = 16;      // added to the window's size: with gzip's head

/// Packs text, piece by piece.
class Packer {
 public:
  Packer() {
    if (::deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw RunError("zlib does not start");
  }
  ~Packer() { ::deflateEnd(&stream_); }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  void add(std::string_view text) {
    held_ += text;
    if (held_.size() >= kPiece) pack(Z_NO_FLUSH);
  }
  std::string finish() {
    pack(Z_FINISH);
    return std::move(made_);
  }

 private:
  void pack(int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(held_.data());
    stream_.avail_in = static_cast<uInt>(held_.size());
    do {
      char block[1 << 15];
      stream_.next_out = reinterpret_cast<Bytef*>(block);
      stream_.avail_out = sizeof block;
      ::deflate(&stream_, flush);
      made_.append(block, sizeof block - stream_.avail_out);
    } while (stream_.avail_out == 0);
    held_.clear();
  }

  z_stream stream_{};
  std::string held_, made_;
};

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::open:
      return "open";
    case Kind::read:
      return "read";
    case Kind::write:
      return "write";
    case Kind::seek:
      return "lseek";
    case Kind::stat:
      return "stat";
    case Kind::close:
      return "close";
    case Kind::sync:
      return "fsync";
    case Kind::map:
      return "mmap";
    case Kind::change:
      return "rename";
    case Kind::take:
      return "take";
    case Kind::give:
      return "give";
    case Kind::hand_over:
      return "wait";
    case Kind::sleep:
      return "sleep";
    case Kind::gpu:
      return "gpu";
    case Kind::other:
      break;
  }
  return "other";
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string packed(const Log& log) {
  Packer packer;
  packer.add("[\n");
  for (std::size_t p = 0; p < log.processes.size(); ++p) {
    const Process& one = log.processes[p];
    packer.add(fmt::format(
        R"({{"name":"start","cat":"dftracer","pid":{},"tid":{},"ts":0,"dur":0,"ph":1,"args":{{"ppid":{},"command":{},"waits":{}}}}})"
        "\n",
        one.pid, one.pid, one.parent >= 0 ? log.processes[static_cast<std::size_t>(one.parent)].pid : 0,
        quoted(one.command), log.waits_known ? 1 : 0));
  }
  for (std::size_t f = 0; f < log.files.size(); ++f)
    packer.add(
        fmt::format(R"({{"name":"FH","cat":"dftracer","pid":0,"tid":0,"ph":4,"args":{{"name":{},"value":"{:x}"}}}})"
                    "\n",
                    quoted(log.files[f]), f));
  std::uint64_t id = 0;
  for (const Call& call : log.calls) {
    const Thread& thread = log.threads[call.thread];
    std::string arguments = fmt::format(R"("ret":{},"count":{})", call.bytes, call.asked);
    if (call.offset >= 0) arguments += fmt::format(R"(,"offset":{})", call.offset);
    if (call.kind == Kind::open) arguments += fmt::format(R"(,"flags":{})", call.to_read ? 0 : kReadWrite);
    if (call.processor_s >= 0) arguments += fmt::format(R"(,"processor_us":{:.3f})", call.processor_s * 1e6);
    if (call.file != kNoFile) arguments += fmt::format(R"(,"fhash":"{:x}")", call.file);
    if (call.renamed_to != kNoFile) arguments += fmt::format(R"(,"renamed_to":"{:x}")", call.renamed_to);
    packer.add(fmt::format(
        R"({{"id":{},"name":"{}","cat":"POSIX","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"ph":1,"args":{{{}}}}})"
        "\n",
        ++id, name_of(call.kind), log.processes[thread.process].pid, thread.tid, call.begin_s * 1e6, call.seconds * 1e6,
        arguments));
  }
  return packer.finish();
}

}  // namespace headrace::observe::calls
