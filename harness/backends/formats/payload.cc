#include "harness/backends/formats/payload.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace headrace::formats {

Payload::Payload(std::vector<std::string_view> beginnings, std::uint64_t room, std::vector<std::string_view> others)
    : beginnings_(std::move(beginnings)), others_(std::move(others)) {
  for (const auto* all : {&beginnings_, &others_})
    for (const std::string_view one : *all) longest_ = std::max(longest_, one.size());
  if (!make_room(std::max<std::uint64_t>(room, 4096))) throw std::bad_alloc();
}

Payload::Payload(std::uint64_t room) : all_(true) {
  if (!make_room(std::max<std::uint64_t>(room, 4096))) throw std::bad_alloc();
}

Flaw Payload::flaw() const noexcept {
  if (too_large_) return Flaw::too_large;
  if (all_) return Flaw::none;
  return is_own() || spare_size_ > 0 || (size_ > 0 && fits_others(bytes())) ? Flaw::none : Flaw::nothing_to_decode;
}

void Payload::begin_part(std::uint64_t at) noexcept {
  if (all_) {
    if (size_ == 0) at_ = at;
    return;
  }
  passes_by_ = chosen_ || too_large_;
  if (passes_by_) return;
  if (is_spare_ || (spare_size_ == 0 && size_ > 0 && fits_others({memory_.get() + first_, size_}))) {
    spare_size_ = size_;
    spare_at_ = at_ + first_;
  }
  is_spare_ = false;
  first_ = spare_size_;
  size_ = 0;
  at_ = at - first_;
}

void Payload::begin_whole(std::uint64_t at) noexcept {
  begin();
  at_ = at;
  chosen_ = true;
}

void Payload::add(std::span<const unsigned char> bytes) noexcept {
  if (passes_by_ || too_large_ || bytes.empty()) return;
  if (!make_room(first_ + size_ + bytes.size())) {
    too_large_ = true;
    size_ = 0;
    return;
  }
  std::memcpy(memory_.get() + first_ + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
  if (all_ || chosen_ || is_spare_ || size_ < longest_) return;
  const std::span<const unsigned char> part(memory_.get() + first_, size_);
  chosen_ = fits(part);
  is_spare_ = !chosen_ && spare_size_ == 0 && fits_others(part);
  passes_by_ = !chosen_ && !is_spare_;
  if (passes_by_) size_ = 0;
}

void Payload::choose(std::span<const unsigned char> part) noexcept {
  if (too_large_ || all_) return;
  chosen_ = !part.empty();
  first_ = part.empty() ? 0 : static_cast<std::uint64_t>(part.data() - memory_.get());
  size_ = part.size();
}

bool Payload::begins(std::span<const unsigned char> part, const std::vector<std::string_view>& with) noexcept {
  return std::any_of(with.begin(), with.end(), [part](std::string_view one) {
    return part.size() >= one.size() && std::memcmp(part.data(), one.data(), one.size()) == 0;
  });
}

bool Payload::make_room(std::uint64_t wanted) noexcept {
  if (wanted <= room_) return true;
  if (wanted > kMost) return false;
  const std::uint64_t room = std::min(kMost, std::max(wanted, 2 * room_));
  std::unique_ptr<unsigned char[]> more(new (std::nothrow) unsigned char[room]);
  if (!more) return false;
  if (first_ + size_ > 0) std::memcpy(more.get(), memory_.get(), first_ + size_);
  memory_ = std::move(more);
  room_ = room;
  return true;
}

}  // namespace headrace::formats
