#include <zlib.h>

#include <cstdio>
#include <cstring>
#include <new>

#include "harness/backends/npz/codec.h"
#include "harness/backends/npz/npy.h"
#include "harness/backends/npz/zip.h"

namespace headrace::npz {
namespace {

constexpr std::size_t kPiece = 262144;  // numpy.lib.format.BUFFER_SIZE

class Decoder final : public ByteDecoder {
 public:
  explicit Decoder(const DecodeLimits& limits) : limits_(limits) {
    if (inflateInit2(&inflater_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Decoder() override { inflateEnd(&inflater_); }
  Decoder(const Decoder&) = delete;

  bool decode(std::span<const unsigned char> file, std::span<const unsigned char>& bytes,
              DecodeError& error) noexcept override {
    most_ = limits_.unpacked(file.size());
    ZipDirectory directory;
    if (!directory.open(file, error)) return false;
    std::uint64_t filled = 0, arrays = 0;
    for (ZipMember member;;) {
      const ZipDirectory::Next next = directory.next(member, error);
      if (next == ZipDirectory::Next::wrong) return false;
      if (next == ZipDirectory::Next::end) break;
      if (!member.name.ends_with(".npy")) continue;
      if (!make_room(filled, member, error) || !unpack(member, out_.get() + filled, error)) return false;
      DecodeError of_array;
      if (!check_npy({out_.get() + filled, member.size}, of_array)) {
        // Where a packed array is wrong, no place in the file reports.
        return error.set(member.offset + (member.deflated ? 0 : of_array.offset), of_array.what.data());
      }
      filled += member.size;
      ++arrays;
    }
    if (arrays == 0) return error.set(0, "it holds no array (.npy)");
    bytes = {out_.get(), filled};
    return true;
  }

 private:
  bool make_room(std::uint64_t filled, const ZipMember& member, DecodeError& error) noexcept {
    if (member.size > most_ || filled > most_ - member.size) {
      std::array<char, 100> text;
      std::snprintf(text.data(), text.size(), "it unpacks to more than %llu bytes",
                    static_cast<unsigned long long>(most_));
      return error.set(member.offset, text.data());
    }
    const std::uint64_t wanted = filled + member.size;
    if (wanted <= room_) return true;
    const std::uint64_t room = std::max(wanted, std::min(2 * room_, most_));  // many small arrays: not each copies all
    std::unique_ptr<unsigned char[]> more(new (std::nothrow) unsigned char[room]);
    if (!more) return error.set(member.offset, "there is no memory for what it unpacks to");
    if (filled > 0) std::memcpy(more.get(), out_.get(), filled);
    out_ = std::move(more);
    room_ = room;
    return true;
  }

  bool unpack(const ZipMember& member, unsigned char* to, DecodeError& error) noexcept {
    uLong crc = 0;
    if (member.deflated) {
      if (!inflate_all(member, to, error)) return false;
      crc = crc32_z(0, to, member.size);
    } else {
      for (std::uint64_t at = 0; at < member.size; at += kPiece) {
        const std::uint64_t length = std::min<std::uint64_t>(kPiece, member.size - at);
        crc = crc32_z(crc, member.packed.data() + at, length);
        std::memcpy(to + at, member.packed.data() + at, length);
      }
    }
    if (crc == member.crc) return true;
    return error.set(member.offset, "wrong CRC-32 of an array");
  }

  bool inflate_all(const ZipMember& member, unsigned char* to, DecodeError& error) noexcept {
    inflateReset(&inflater_);
    std::uint64_t used = 0, filled = 0;
    for (int result = Z_OK; result != Z_STREAM_END;) {
      const auto in = static_cast<uInt>(std::min<std::uint64_t>(1u << 30, member.packed.size() - used));
      const auto out = static_cast<uInt>(std::min<std::uint64_t>(1u << 30, member.size - filled));
      inflater_.next_in = const_cast<unsigned char*>(member.packed.data()) + used;
      inflater_.avail_in = in;
      inflater_.next_out = to + filled;
      inflater_.avail_out = out;
      result = ::inflate(&inflater_, Z_NO_FLUSH);
      used += in - inflater_.avail_in;
      filled += out - inflater_.avail_out;
      const bool stuck = inflater_.avail_in == in && inflater_.avail_out == out;
      if ((result != Z_OK && result != Z_STREAM_END) || (stuck && result != Z_STREAM_END))
        return error.set(member.offset + used, inflater_.msg != nullptr && result == Z_DATA_ERROR
                                                   ? inflater_.msg
                                                   : "a packed array that ends too early, or goes on for too long");
    }
    if (filled == member.size) return true;
    return error.set(member.offset + used, "a packed array of another size than the directory says");
  }

  const DecodeLimits limits_;
  std::uint64_t most_ = 0;  // of this file [B]
  z_stream inflater_{};
  std::unique_ptr<unsigned char[]> out_;
  std::uint64_t room_ = 0;
};

}  // namespace

std::unique_ptr<ByteDecoder> make_decoder(const DecodeLimits& limits) { return std::make_unique<Decoder>(limits); }

}  // namespace headrace::npz
