// Memory of which only addresses are there until somebody writes: of GPUs that hold more than this machine.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

namespace headrace::testing {

class HollowMemory {
 public:
  explicit HollowMemory(std::uint64_t bytes) : bytes_(bytes), file_(::memfd_create("hollow", MFD_CLOEXEC)) {
    if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(bytes)) != 0) throw std::runtime_error("no memory file");
    void* place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (place == MAP_FAILED) throw std::runtime_error("no addresses");
    begin_ = static_cast<unsigned char*>(place);
  }
  ~HollowMemory() {
    ::munmap(begin_, bytes_);
    ::close(file_);
  }
  HollowMemory(const HollowMemory&) = delete;

  unsigned char* begin() const { return begin_; }
  /// Shows another's bytes at `to` here, as they are now and for as long as they stay. False: they are no pages.
  bool show(void* to, const HollowMemory& other, const void* from, std::uint64_t bytes) {
    const auto offset = static_cast<const unsigned char*>(from) - other.begin_;
    const std::uint64_t page = 4096;
    if (other.shows_others_ || bytes % page != 0 || offset % page != 0 ||
        reinterpret_cast<std::uintptr_t>(to) % page != 0)
      return false;
    shows_others_ = true;
    return ::mmap(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, other.file_, offset) ==
           to;
  }

 private:
  std::uint64_t bytes_;
  int file_;
  unsigned char* begin_ = nullptr;
  bool shows_others_ = false;  // not all bytes are in its own file
};

}  // namespace headrace::testing
