// Memory for reads: aligned for direct I/O, in huge pages if possible, touched before the clock starts. Header-only, so
// that plugins can use it.
#pragma once

#include <errno.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "harness/base/error.h"

namespace headrace {

inline constexpr std::uint64_t kPage = 4096;  // alignment of direct I/O: offsets, lengths, buffers
inline constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) noexcept { return (value + to - 1) / to * to; }

/// `count` buffers of `size` bytes in one mapping. Direct I/O from 4 KiB pages is cut into many segments. From huge
/// pages it is not, which is worth a factor. Memory is touched at once. On a virtual machine the first touch of a page
/// may cost more than the read.
class Buffers {
 public:
  enum class Pages { huge, transparent_huge, ordinary };

  Buffers(std::uint32_t count, std::uint64_t size, bool huge_pages)
      : stride_(round_up(size, kPage)), length_(round_up(stride_ * count, kHugePage)) {
    if (!(huge_pages && map_huge()) && !map_ordinary(huge_pages))
      throw system_error("map", std::to_string(length_) + " bytes of buffers", errno);
    std::memset(begin_, 0x5a, length_);
    if (pages_ == Pages::transparent_huge && !is_collapsed()) pages_ = Pages::ordinary;
  }
  ~Buffers() { ::munmap(mapping_, mapped_); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  unsigned char* operator[](std::uint32_t slot) const noexcept { return begin_ + slot * stride_; }
  unsigned char* begin() const noexcept { return begin_; }
  std::uint64_t stride() const noexcept { return stride_; }
  std::uint64_t length() const noexcept { return length_; }
  std::span<const unsigned char> all() const noexcept { return {begin_, length_}; }
  Pages pages() const noexcept { return pages_; }

 private:
  bool map(std::uint64_t length, int flags) noexcept {
    void* p = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (p == MAP_FAILED) return false;
    mapping_ = p;
    mapped_ = length;
    begin_ = static_cast<unsigned char*>(p);
    return true;
  }
  bool map_huge() noexcept {
    constexpr int kTwoMiB = 21 << 26;  // MAP_HUGE_2MB
    pages_ = Pages::huge;
    return map(length_, MAP_HUGETLB | kTwoMiB);
  }
  bool map_ordinary(bool huge_pages) noexcept {
    if (!map(length_ + kHugePage, 0)) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(begin_);
    begin_ += round_up(address, kHugePage) - address;
    const bool advised = huge_pages && ::madvise(begin_, length_, MADV_HUGEPAGE) == 0;
    pages_ = advised ? Pages::transparent_huge : Pages::ordinary;
    return true;
  }
  /// Makes the kernel gather huge pages now and show whether it could. A kernel without the call (before 6.1) is
  /// believed.
  bool is_collapsed() const noexcept {
    constexpr int kCollapse = 25;  // MADV_COLLAPSE
    return ::madvise(begin_, length_, kCollapse) == 0 || errno == EINVAL;
  }

  std::uint64_t stride_, length_, mapped_ = 0;
  void* mapping_ = nullptr;
  unsigned char* begin_ = nullptr;
  Pages pages_ = Pages::ordinary;
};

}  // namespace headrace
