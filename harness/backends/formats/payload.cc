#include "harness/backends/formats/payload.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace headrace::formats {

Payload::Payload(std::vector<std::string_view> beginnings, std::uint64_t room) : beginnings_(std::move(beginnings)) {
  for (const std::string_view one : beginnings_) longest_ = std::max(longest_, one.size());
  if (!make_room(std::max<std::uint64_t>(room, 4096))) throw std::bad_alloc();
}

Payload::Payload(std::uint64_t room) : all_(true) {
  if (!make_room(std::max<std::uint64_t>(room, 4096))) throw std::bad_alloc();
}

Flaw Payload::flaw() const noexcept {
  if (too_large_) return Flaw::too_large;
  if (all_) return Flaw::none;
  return chosen_ || (size_ > 0 && fits(bytes())) ? Flaw::none : Flaw::nothing_to_decode;
}

void Payload::begin_part(std::uint64_t at) noexcept {
  if (all_) {
    if (size_ == 0) at_ = at;
    return;
  }
  passes_by_ = chosen_ || too_large_;
  if (passes_by_) return;
  size_ = 0;
  at_ = at;
}

void Payload::begin_whole(std::uint64_t at) noexcept {
  begin();
  at_ = at;
  chosen_ = true;
}

void Payload::add(std::span<const unsigned char> bytes) noexcept {
  if (passes_by_ || too_large_ || bytes.empty()) return;
  if (!make_room(size_ + bytes.size())) {
    too_large_ = true;
    size_ = 0;
    return;
  }
  std::memcpy(memory_.get() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
  if (all_ || chosen_ || size_ < longest_) return;
  chosen_ = fits({memory_.get(), size_});
  passes_by_ = !chosen_;
  if (passes_by_) size_ = 0;
}

void Payload::choose(std::span<const unsigned char> part) noexcept {
  if (too_large_ || all_) return;
  chosen_ = !part.empty();
  first_ = part.empty() ? 0 : static_cast<std::uint64_t>(part.data() - memory_.get());
  size_ = part.size();
}

bool Payload::fits(std::span<const unsigned char> part) const noexcept {
  return all_ || std::any_of(beginnings_.begin(), beginnings_.end(), [part](std::string_view one) {
           return part.size() >= one.size() && std::memcmp(part.data(), one.data(), one.size()) == 0;
         });
}

bool Payload::make_room(std::uint64_t wanted) noexcept {
  if (wanted <= room_) return true;
  if (wanted > kMost) return false;
  const std::uint64_t room = std::min(kMost, std::max(wanted, 2 * room_));
  std::unique_ptr<unsigned char[]> more(new (std::nothrow) unsigned char[room]);
  if (!more) return false;
  if (size_ > 0) std::memcpy(more.get(), memory_.get(), size_);
  memory_ = std::move(more);
  room_ = room;
  return true;
}

}  // namespace headrace::formats
