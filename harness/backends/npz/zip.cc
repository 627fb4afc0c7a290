#include "harness/backends/npz/zip.h"

#include <algorithm>
#include <cstdio>

#include "harness/base/error.h"

namespace headrace::npz {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kEntry = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50;
constexpr std::size_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20;
constexpr std::uint64_t kElsewhere = 0xffffffff;  // of a size or place that zip64's fields have
constexpr std::uint16_t kStored = 0, kDeflated = 8, kEncrypted = 1, kZip64Extra = 1;

std::uint64_t number(const unsigned char* at, unsigned bytes) noexcept {
  std::uint64_t value = 0;
  while (bytes-- > 0) value = value << 8 | at[bytes];
  return value;
}
std::uint16_t number16(const unsigned char* at) noexcept { return static_cast<std::uint16_t>(number(at, 2)); }
std::uint64_t number32(const unsigned char* at) noexcept { return number(at, 4); }
std::uint64_t number64(const unsigned char* at) noexcept { return number(at, 8); }

/// Where the record at the end begins: it may be followed by a comment of up to 64 KiB. Its size where there is none.
std::uint64_t find_end(std::span<const unsigned char> file) noexcept {
  if (file.size() < kEndSize) return file.size();
  const std::uint64_t last = file.size() - kEndSize, first = last - std::min<std::uint64_t>(last, 65535);
  for (std::uint64_t at = last;; --at) {
    if (number32(&file[at]) == kEnd && number16(&file[at + 20]) == file.size() - at - kEndSize) return at;
    if (at == first) return file.size();
  }
}

/// Takes from zip64's fields of an entry the values that do not fit its own.
void take_zip64(std::span<const unsigned char> extra, std::uint64_t& size, std::uint64_t& packed,
                std::uint64_t& header) noexcept {
  while (extra.size() >= 4) {
    const std::size_t length = std::min<std::size_t>(number16(&extra[2]), extra.size() - 4);
    std::span<const unsigned char> field = extra.subspan(4, length);
    if (number16(extra.data()) == kZip64Extra)
      for (std::uint64_t* value : {&size, &packed, &header})
        if (*value == kElsewhere && field.size() >= 8) {
          *value = number64(field.data());
          field = field.subspan(8);
        }
    extra = extra.subspan(4 + length);
  }
}

void put(std::vector<unsigned char>& out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out.push_back(static_cast<unsigned char>(value >> 8 * i));
}

}  // namespace

bool ZipDirectory::open(std::span<const unsigned char> file, DecodeError& error) noexcept {
  file_ = file;
  at_ = end_ = before_ = 0;
  if (file.empty()) return error.set(0, "it is empty");
  if (file.size() < 4 || (number32(file.data()) != kLocal && number32(file.data()) != kEnd))
    return error.set(0, "it does not begin as a zip file does");
  const std::uint64_t end = find_end(file);
  if (end == file.size()) return error.set(file.size(), "the file ends before the zip file's directory does");
  std::uint64_t length = number32(&file[end + 12]), begin = number32(&file[end + 16]), behind = end;
  if (end >= kLocator64Size && number32(&file[end - kLocator64Size]) == kLocator64) {
    const std::uint64_t end64 = number64(&file[end - kLocator64Size + 8]);
    if (end64 > end - kLocator64Size || end - kLocator64Size - end64 < kEnd64Size || number32(&file[end64]) != kEnd64)
      return error.set(end - kLocator64Size, "no end of a zip64 directory where it is said to be");
    length = number64(&file[end64 + 40]);
    begin = number64(&file[end64 + 48]);
    behind = end64;
  }
  if (length > behind || begin > behind - length)
    return error.set(end, "the zip file's directory is said to be where it cannot be");
  end_ = behind;
  at_ = behind - length;
  before_ = at_ - begin;
  return true;
}

ZipDirectory::Next ZipDirectory::next(ZipMember& member, DecodeError& error) noexcept {
  if (at_ == end_) return Next::end;
  if (end_ - at_ < kEntrySize || number32(&file_[at_]) != kEntry)
    return error.set(at_, "no entry of a zip directory where one belongs"), Next::wrong;
  const unsigned char* const entry = &file_[at_];
  const std::uint64_t name = number16(entry + 28), extra = number16(entry + 30), comment = number16(entry + 32);
  if (end_ - at_ - kEntrySize < name + extra + comment)
    return error.set(at_, "an entry of the zip directory that is longer than the directory"), Next::wrong;
  member.name = {reinterpret_cast<const char*>(entry + kEntrySize), name};
  member.crc = static_cast<std::uint32_t>(number32(entry + 16));
  std::uint64_t packed = number32(entry + 20), header = number32(entry + 42);
  member.size = number32(entry + 24);
  take_zip64(file_.subspan(at_ + kEntrySize + name, extra), member.size, packed, header);
  const std::uint16_t method = number16(entry + 10);
  if ((number16(entry + 8) & kEncrypted) != 0) return error.set(at_, "a member that is encrypted"), Next::wrong;
  if (method != kStored && method != kDeflated)
    return error.set(at_, "a member that is packed otherwise than by deflate"), Next::wrong;
  member.deflated = method == kDeflated;
  if (!locate(member, header, packed, error)) return Next::wrong;
  if (!member.deflated && member.size != packed) return error.set(at_, "a stored member of two sizes"), Next::wrong;
  at_ += kEntrySize + name + extra + comment;
  return Next::member;
}

bool ZipDirectory::locate(ZipMember& member, std::uint64_t header, std::uint64_t packed,
                          DecodeError& error) const noexcept {
  if (header > at_ || before_ > at_ - header || at_ - header - before_ < kLocalSize)
    return error.set(at_, "a member that is said to begin where it cannot");
  header += before_;
  const unsigned char* const local = &file_[header];
  if (number32(local) != kLocal) return error.set(header, "no header of a member where one belongs");
  const std::uint64_t name = number16(local + 26), extra = number16(local + 28);
  const std::uint64_t room = file_.size() - header - kLocalSize;
  if (name + extra > room || packed > room - name - extra)
    return error.set(header, "a member that is longer than the file");
  if (member.name != std::string_view(reinterpret_cast<const char*>(local + kLocalSize), name))
    return error.set(header, "a member's name in its header is not the directory's");
  member.offset = header + kLocalSize + name + extra;
  member.packed = file_.subspan(member.offset, packed);
  return true;
}

ZipFrame zip_frame(std::string_view name, std::uint64_t size, std::uint32_t crc) {
  if (size + 1024 >= kElsewhere) throw RunError("making an npz file: more than zip files have without zip64");
  ZipFrame frame;
  const auto head = [&](std::vector<unsigned char>& out) {  // the common fields of a member's header and its entry
    put(out, 20, 2);                                        // version needed
    put(out, 0, 2);                                         // flags
    put(out, kStored, 2);
    put(out, 0, 2);
    put(out, 0x21, 2);  // 1980-01-01, as numpy writes
    put(out, crc, 4);
    put(out, size, 4);
    put(out, size, 4);
    put(out, name.size(), 2);
    put(out, 0, 2);
  };
  put(frame.before, kLocal, 4);
  head(frame.before);
  frame.before.insert(frame.before.end(), name.begin(), name.end());
  put(frame.behind, kEntry, 4);
  put(frame.behind, 20, 2);
  head(frame.behind);
  put(frame.behind, 0, 2 + 2 + 2);  // comment, disk, internal attributes
  put(frame.behind, 0, 4 + 4);      // external attributes, place of the header
  frame.behind.insert(frame.behind.end(), name.begin(), name.end());
  const std::uint64_t directory = frame.behind.size();
  put(frame.behind, kEnd, 4);
  put(frame.behind, 0, 2 + 2);
  put(frame.behind, 1, 2);
  put(frame.behind, 1, 2);
  put(frame.behind, directory, 4);
  put(frame.behind, frame.before.size() + size, 4);
  put(frame.behind, 0, 2);
  return frame;
}

}  // namespace headrace::npz
