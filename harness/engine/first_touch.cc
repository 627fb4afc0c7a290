#include "harness/engine/first_touch.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "harness/backends/buffers.h"
#include "harness/base/parallel.h"
#include "harness/base/system/kernel_files.h"
#include "harness/base/units.h"
#include "harness/machine/cpu.h"
#include "harness/record/recorder.h"

namespace headrace::engine {
namespace {

constexpr std::uint64_t kPiece = 64_MiB;
constexpr double kReserve = 0.1;  // of the free memory stays free

std::uint64_t free_memory() {
  const auto kib = system::number_field(system::read_text("/proc/meminfo").value_or(""), "MemFree");
  return kib.value_or(0) * 1024;
}

bool is_virtual() {
  static const bool virtual_machine = system::cpu_facts().is_virtual;
  return virtual_machine;
}

/// Address space whose pages go back to the kernel with it.
class Touched {
 public:
  explicit Touched(std::uint64_t bytes) : bytes_(bytes) {
    void* p = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return;
    begin_ = static_cast<unsigned char*>(p);
    ::madvise(begin_, bytes_, MADV_HUGEPAGE);
  }
  ~Touched() {
    if (begin_) ::munmap(begin_, bytes_);
  }
  Touched(const Touched&) = delete;
  bool is_there() const { return begin_ != nullptr; }
  void touch(std::uint64_t from, std::uint64_t to) const {
    for (std::uint64_t at = from; at < to; at += kPage) static_cast<volatile unsigned char*>(begin_)[at] = 1;
  }

 private:
  std::uint64_t bytes_;
  unsigned char* begin_ = nullptr;
};

}  // namespace

std::uint64_t touchable_bytes(std::uint64_t needed_bytes, std::uint64_t free_bytes, std::uint64_t most_bytes) {
  const auto spare = static_cast<std::uint64_t>((1 - kReserve) * static_cast<double>(free_bytes));
  return std::min({needed_bytes, spare, most_bytes}) / kHugePage * kHugePage;
}

FirstTouch touch_memory(std::uint64_t needed_bytes, std::uint64_t most_bytes, double most_s,
                        const DataProgress& progress) {
  static std::uint64_t touched_before = 0;
  FirstTouch result{.needed_bytes = needed_bytes};
  if (needed_bytes <= touched_before || !is_virtual()) return result;
  const std::uint64_t bytes = touchable_bytes(needed_bytes, free_memory(), most_bytes);
  if (bytes == 0) return result;
  const std::uint64_t begin = now_ns();
  const auto elapsed_s = [begin] { return static_cast<double>(now_ns() - begin) * 1e-9; };
  const Touched memory(bytes);
  if (!memory.is_there()) return result;
  std::atomic<std::uint64_t> done{0};
  parallel_for((bytes + kPiece - 1) / kPiece, std::max(1u, std::thread::hardware_concurrency()),
               [&](unsigned, std::uint64_t piece) {
                 const std::uint64_t from = piece * kPiece, to = std::min(bytes, from + kPiece);
                 if (most_s > 0 && elapsed_s() > most_s) return;
                 memory.touch(from, to);
                 done += to - from;
               },
               [&] {
                 if (progress) progress(done, bytes, "touching memory first");
               });
  touched_before = needed_bytes;
  result.touched_bytes = done;
  result.elapsed_s = elapsed_s();
  return result;
}

}  // namespace headrace::engine
