#include "harness/observe/sampling/process_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "harness/base/system/kernel_files.h"
#include "harness/base/system/list_names.h"

namespace headrace::observe {
namespace {

using system::UniqueFd;

UniqueFd open_in(const UniqueFd& folder, const char* path, int flags = 0) {
  return UniqueFd(::openat(folder.get(), path, O_RDONLY | O_CLOEXEC | flags));
}

/// The numbers that are names in a folder. None where the process has ended or is another user's, nothing where a limit
/// of this process prevents it.
std::optional<std::vector<int>> numbers_in(const UniqueFd& folder, const char* path) {
  std::vector<std::string> names;
  const int code = system::list_names(folder.get(), path, names);
  if (code == EMFILE || code == ENFILE || code == ENOMEM) return std::nullopt;
  if (code != 0) return std::vector<int>{};
  std::vector<int> found;
  for (const std::string& name : names) {
    int number = 0;
    if (const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        error == std::errc{} && end == name.data() + name.size())
      found.push_back(number);
  }
  return found;
}

std::string whole(const UniqueFd& folder, const char* path, std::size_t most = 1 << 20) {
  std::string text;
  const UniqueFd file = open_in(folder, path);
  char part[4096];
  while (file && text.size() < most) {
    const ssize_t got = ::read(file.get(), part, sizeof part);
    if (got <= 0) break;
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

std::string_view read_at_start(int fd, std::span<char> buffer) noexcept {
  if (fd < 0) return {};
  const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), 0);
  return got > 0 ? std::string_view(buffer.data(), static_cast<std::size_t>(got)) : std::string_view{};
}

bool parse_io(std::string_view text, ProcessCounters& into) noexcept {
  struct Key {
    std::string_view name;
    std::uint64_t& value;
  };
  const Key keys[] = {{"rchar: ", into.read_calls_bytes},
                      {"wchar: ", into.write_calls_bytes},
                      {"syscr: ", into.read_calls},
                      {"syscw: ", into.write_calls},
                      {"read_bytes: ", into.storage_read_bytes},
                      {"write_bytes: ", into.storage_written_bytes}};
  unsigned found = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    for (const Key& key : keys) {
      if (!line.starts_with(key.name)) continue;
      std::uint64_t value = 0;
      if (std::from_chars(line.data() + key.name.size(), line.data() + line.size(), value).ec == std::errc{}) {
        key.value += value;
        ++found;
      }
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found == std::size(keys);
}

std::optional<Stat> parse_stat(std::string_view text) noexcept {
  const std::size_t name_end = text.rfind(')');  // a name may hold blanks and brackets
  if (name_end == text.npos || name_end + 2 >= text.size()) return std::nullopt;
  Stat stat;
  std::string_view rest = text.substr(name_end + 2);
  unsigned field = 3;
  for (; !rest.empty() && field <= 28; ++field) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    std::uint64_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    switch (field) {
      case 3:
        stat.state = word.empty() ? '?' : word.front();
        break;
      case 4:
        stat.parent = static_cast<int>(value);
        break;
      case 12:
        stat.major_faults = value;
        break;
      case 14:
        stat.user_ticks = value;
        break;
      case 15:
        stat.system_ticks = value;
        break;
      case 20:
        stat.threads = static_cast<unsigned>(value);
        break;
      case 22:
        stat.started_ticks = value;
        break;
      case 28:
        stat.stack = value;
        break;
      default:
        break;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return field > 22 ? std::optional(stat) : std::nullopt;  // 28 is newer
}

std::optional<Scheduled> parse_schedstat(std::string_view text) noexcept {
  Scheduled found;
  const char* const end = text.data() + text.size();
  const auto [blank, wrong] = std::from_chars(text.data(), end, found.ran_ns);
  if (wrong != std::errc{} || blank == end || *blank != ' ') return std::nullopt;
  if (std::from_chars(blank + 1, end, found.queued_ns).ec != std::errc{}) return std::nullopt;
  return found;
}

namespace {

/// A line of maps.
struct Mapping {
  AddressRange range;
  std::string_view rights, path;
};

template <class Each>
void each_mapping(std::string_view maps, const Each& each) {
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    const std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    const std::size_t dash = line.find('-'), blank = line.find(' ');
    if (dash == line.npos || blank == line.npos || blank < dash) continue;
    Mapping one{.range = {}, .rights = line.substr(blank + 1, 4), .path = {}};
    std::from_chars(line.data(), line.data() + dash, one.range.begin, 16);
    std::from_chars(line.data() + dash + 1, line.data() + blank, one.range.end, 16);
    if (const std::size_t path = line.find_first_of("/["); path != line.npos) one.path = line.substr(path);
    each(one);
  }
}

}  // namespace

AddressRange python_data(std::string_view maps) noexcept {
  AddressRange found;
  bool library = false;  // it has the data, where the program is linked with it
  each_mapping(maps, [&](const Mapping& one) {
    if (!one.rights.starts_with("rw")) return;
    const std::string_view name = one.path.substr(one.path.rfind('/') + 1);
    const bool python = name.starts_with("python"), of_library = name.starts_with("libpython");
    // Data without a place in the file follows it.
    if ((python || of_library || one.path.empty()) && found.end != 0 && one.range.begin == found.end)
      found.end = one.range.end;
    else if (of_library ? !library || one.range.size() > found.size() : python && !library)
      found = one.range;
    library |= of_library;
  });
  return found;
}

std::vector<std::string> mapped_files(std::string_view maps) {
  std::vector<std::string> found;
  each_mapping(maps, [&](const Mapping& one) {
    if (one.path.empty() || one.rights.find('x') != one.rights.npos || fd_kind(one.path) != FdKind::file) return;
    if (found.empty() || found.back() != one.path) found.emplace_back(one.path);
  });
  return found;
}

ProcessFiles::ProcessFiles(const std::string& proc, int pid)
    : pid_(pid), folder_(::open(fmt::format("{}/{}", proc, pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!folder_) return;
  io_ = open_in(folder_, "io");
  stat_ = open_in(folder_, "stat");
  schedstat_ = open_in(folder_, "schedstat");
  lead_io_ = open_in(folder_, fmt::format("task/{}/io", pid).c_str());
  find_threads();
  if (threads_.empty()) return;
  refused_ = look_refused();
}

int ProcessFiles::look_refused() const noexcept {
  char line[256];
  if (threads_.empty()) return ESRCH;
  if (threads_.front().syscall) return ::pread(threads_.front().syscall.get(), line, sizeof line, 0) < 0 ? errno : 0;
  // It could not be opened; whether that is so still, and why.
  const UniqueFd again = open_in(folder_, fmt::format("task/{}/syscall", threads_.front().tid).c_str());
  return again ? 0 : errno;
}

void ProcessFiles::find_threads() {
  const std::optional<std::vector<int>> now = numbers_in(folder_, "task");
  if (!now) return;
  std::erase_if(threads_,
                [&](const ThreadFiles& t) { return std::find(now->begin(), now->end(), t.tid) == now->end(); });
  for (const int tid : *now) {
    if (std::any_of(threads_.begin(), threads_.end(), [tid](const ThreadFiles& t) { return t.tid == tid; })) continue;
    ThreadFiles fresh{.tid = tid, .syscall = open_in(folder_, fmt::format("task/{}/syscall", tid).c_str())};
    // The first thread has the process's number.
    threads_.insert(tid == pid_ ? threads_.begin() : threads_.end(), std::move(fresh));
  }
}

bool ProcessFiles::read_counters(ProcessCounters& into, bool& io_refused) const noexcept {
  static const double ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  char buffer[1024];
  const auto stat = read_stat();
  if (!stat || stat->state == 'Z' || stat->state == 'X') return false;
  io_refused = !parse_io(read_at_start(io_.get(), buffer), into);
  into.major_faults = stat->major_faults;
  into.user_s = static_cast<double>(stat->user_ticks) / ticks_per_s;
  into.system_s = static_cast<double>(stat->system_ticks) / ticks_per_s;
  if (const auto scheduled = read_schedstat()) into.queued_s = static_cast<double>(scheduled->queued_ns) * 1e-9;
  return true;
}

bool ProcessFiles::read_io(ProcessCounters& into) const noexcept {
  char buffer[1024];
  return parse_io(read_at_start(io_.get(), buffer), into);
}

std::optional<Stat> ProcessFiles::read_stat() const noexcept {
  char buffer[1024];
  return parse_stat(read_at_start(stat_.get(), buffer));
}

std::optional<Scheduled> ProcessFiles::read_schedstat() const noexcept {
  char buffer[128];
  return parse_schedstat(read_at_start(schedstat_.get(), buffer));
}

bool ProcessFiles::read_lead_io(ProcessCounters& into) const noexcept {
  char buffer[1024];
  return parse_io(read_at_start(lead_io_.get(), buffer), into);
}

std::vector<int> ProcessFiles::children() const {
  std::vector<int> found;
  for (const int tid : numbers_in(folder_, "task").value_or(std::vector<int>{}))
    for (const std::string& word : system::split(whole(folder_, fmt::format("task/{}/children", tid).c_str()), ' '))
      if (const int pid = std::atoi(word.c_str()); pid > 0) found.push_back(pid);
  return found;
}

std::string ProcessFiles::maps() const { return whole(folder_, "maps", 16 << 20); }

std::string ProcessFiles::thread_name(int tid) const {
  return std::string(system::trim(whole(folder_, fmt::format("task/{}/comm", tid).c_str())));
}

bool ProcessFiles::read_thread_io(int tid, ProcessCounters& into) const {
  return parse_io(whole(folder_, fmt::format("task/{}/io", tid).c_str()), into);
}

std::string ProcessFiles::name() const { return std::string(system::trim(whole(folder_, "comm"))); }

std::string ProcessFiles::command() const {
  std::string text = whole(folder_, "cmdline");
  std::replace(text.begin(), text.end(), '\0', ' ');
  return std::string(system::trim(text));
}

std::string_view ProcessFiles::link(std::uint64_t fd, std::span<char> buffer) const noexcept {
  char name[32] = "fd/";
  const auto [end, error] = std::to_chars(name + 3, name + sizeof name - 1, fd);
  if (error != std::errc{}) return {};
  *end = '\0';
  const ssize_t got = ::readlinkat(folder_.get(), name, buffer.data(), buffer.size());
  return got > 0 ? std::string_view(buffer.data(), static_cast<std::size_t>(got)) : std::string_view{};
}

std::string_view ProcessFiles::working_folder(std::span<char> buffer) const noexcept {
  const ssize_t got = ::readlinkat(folder_.get(), "cwd", buffer.data(), buffer.size());
  return got > 0 ? std::string_view(buffer.data(), static_cast<std::size_t>(got)) : std::string_view{};
}

std::string_view ProcessFiles::text_at(std::uint64_t address, std::span<char> buffer) const noexcept {
  // No further than the page's end: the memory behind may not exist.
  const std::size_t room = std::min<std::size_t>(buffer.size(), 4096 - address % 4096);
  const iovec here{.iov_base = buffer.data(), .iov_len = room};
  // An address of the other process.
  void* const remote = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  const iovec there{.iov_base = remote, .iov_len = room};
  const ssize_t got = ::process_vm_readv(pid_, &here, 1, &there, 1, 0);
  if (got <= 0) return {};
  const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
  const std::size_t end = text.find('\0');
  return end == text.npos ? std::string_view{} : text.substr(0, end);
}

bool ProcessFiles::polls_gpu(std::uint64_t address, std::uint64_t count) const noexcept {
  std::array<pollfd, 8> waited{};  // a driver's are the first
  const std::size_t room = std::min<std::uint64_t>(count, waited.size()) * sizeof(pollfd);
  if (room == 0) return false;
  const iovec here{.iov_base = waited.data(), .iov_len = room};
  // An address of the other process.
  void* const remote = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  const iovec there{.iov_base = remote, .iov_len = room};
  const ssize_t got = ::process_vm_readv(pid_, &here, 1, &there, 1, 0);
  if (got <= 0) return false;
  char buffer[256];
  const auto whole = static_cast<std::size_t>(got) / sizeof(pollfd);
  return std::any_of(waited.begin(), waited.begin() + static_cast<std::ptrdiff_t>(whole), [&](const pollfd& one) {
    return one.fd >= 0 && fd_kind(link(static_cast<std::uint64_t>(one.fd), buffer)) == FdKind::gpu;
  });
}

template <class Each>
void ProcessFiles::each_file(bool written, const Each& each) const {
  constexpr int kStandardStreams = 3;
  char buffer[4096];
  for (const int fd : numbers_in(folder_, "fd").value_or(std::vector<int>{})) {
    if (fd < kStandardStreams) continue;
    const std::string_view path = link(static_cast<std::uint64_t>(fd), buffer);
    if (fd_kind(path) != FdKind::file) continue;
    const std::string info = whole(folder_, fmt::format("fdinfo/{}", fd).c_str());
    const auto flags = system::field(info, "flags");
    if (!flags || ((std::strtoul(flags->c_str(), nullptr, 8) & O_ACCMODE) != O_RDONLY) != written) continue;
    each(path, system::number_field(info, "pos").value_or(0));
  }
}

std::string ProcessFiles::written_file() const {
  std::string furthest;
  std::uint64_t most = 0;
  each_file(true, [&](std::string_view path, std::uint64_t place) {
    if (!furthest.empty() && place <= most) return;
    furthest = std::string(path);
    most = place;
  });
  return furthest;
}

std::vector<ProcessFiles::OpenFile> ProcessFiles::open_files() const {
  std::vector<OpenFile> found;
  each_file(false, [&](std::string_view path, std::uint64_t place) { found.push_back({std::string(path), place}); });
  return found;
}

}  // namespace headrace::observe
