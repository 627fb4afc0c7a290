#include "harness/observe/nccl/nccl_place.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "harness/base/system/kernel_files.h"

namespace headrace::observe {
namespace {

/// "VALUE" of "KEY=VALUE", where the entry is that key's.
std::optional<std::string_view> value_in(std::string_view entry, std::string_view key) {
  if (!entry.starts_with(key) || entry.size() <= key.size() || entry[key.size()] != '=') return std::nullopt;
  return entry.substr(key.size() + 1);
}

/// As C's atoi().
long number_in(std::string_view text) {
  long number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// "0100007F" or four of them: each word as this processor has it.
std::optional<std::vector<std::uint32_t>> words_of(std::string_view hex) {
  std::vector<std::uint32_t> words;
  for (; hex.size() >= 8; hex.remove_prefix(8)) {
    std::uint32_t word = 0;
    if (std::from_chars(hex.data(), hex.data() + 8, word, 16).ptr != hex.data() + 8) return std::nullopt;
    words.push_back(word);
  }
  if (!hex.empty() || (words.size() != 1 && words.size() != 4)) return std::nullopt;
  return words;
}

/// A listener on all addresses is asked at the own host's address.
system::SocketAddress address_of(const std::vector<std::uint32_t>& words, std::uint16_t port) {
  const bool everywhere = std::all_of(words.begin(), words.end(), [](std::uint32_t word) { return word == 0; });
  if (words.size() == 1) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    four.sin_addr.s_addr = everywhere ? htonl(INADDR_LOOPBACK) : words[0];
    return {&four, sizeof four};
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = in6addr_loopback;
  if (!everywhere) std::memcpy(&six.sin6_addr, words.data(), sizeof six.sin6_addr);
  return {&six, sizeof six};
}

bool holds_socket(const std::string& proc, int pid, const std::string& inode) {
  const std::string folder = fmt::format("{}/{}/fd", proc, pid), socket = "socket:[" + inode + "]";
  for (const std::string& fd : system::entries(folder)) {
    std::error_code error;
    if (std::filesystem::read_symlink(folder + "/" + fd, error) == socket) return true;
  }
  return false;
}

}  // namespace

NcclSettings nccl_settings(std::string_view environment) {
  NcclSettings found;
  bool inspector = false, prometheus = false;
  std::string folder, job = "unknown-jobid";
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
    if (const auto number = value_in(entry, "SLURM_JOBID")) job = std::to_string(number_in(*number));
    if (!entry.starts_with("NCCL_")) continue;
    found.any = true;
    if (const auto on = value_in(entry, "NCCL_RAS_ENABLE")) found.ras = number_in(*on) != 0;
    if (const auto on = value_in(entry, "NCCL_INSPECTOR_ENABLE")) inspector = number_in(*on) != 0;
    if (const auto on = value_in(entry, "NCCL_INSPECTOR_PROM_DUMP")) prometheus = number_in(*on) != 0;
    if (const auto where = value_in(entry, "NCCL_INSPECTOR_DUMP_DIR")) folder = *where;
    if (const auto address = value_in(entry, "NCCL_RAS_ADDR")) {
      const std::size_t colon = address->rfind(':');
      const long port = colon == address->npos ? 0 : number_in(address->substr(colon + 1));
      found.port = port > 0 && port < 65536 ? static_cast<std::uint16_t>(port) : 0;
    }
  }
  found.inspector_for_prometheus = inspector && prometheus;
  if (inspector && !prometheus) found.inspector_folder = folder.empty() ? "nccl-inspector-" + job : folder;
  return found;
}

std::vector<Listening> listening_at_port(std::string_view table, std::uint16_t port) {
  std::vector<Listening> found;
  const std::string suffix = fmt::format(":{:04X}", port);
  while (!table.empty()) {
    const std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(table.size(), line.size() + 1));
    if (line.find(suffix) == line.npos) continue;
    const std::vector<std::string> words = system::split(line, ' ');  // sl local remote state ... inode is the tenth
    if (words.size() < 10 || words[3] != "0A" || !words[1].ends_with(suffix)) continue;
    if (const auto at = words_of(std::string_view(words[1]).substr(0, words[1].size() - suffix.size())))
      found.push_back({address_of(*at, port), words[9]});
  }
  return found;
}

std::optional<system::SocketAddress> ras_address(const std::string& proc, int pid, std::uint16_t port) {
  for (const char* table : {"tcp", "tcp6"}) {
    const auto text = system::read_text(fmt::format("{}/{}/net/{}", proc, pid, table));
    if (!text) continue;
    for (const Listening& one : listening_at_port(*text, port))
      if (holds_socket(proc, pid, one.inode)) return one.at;
  }
  return std::nullopt;
}

system::UniqueFd open_for_process(const std::string& proc, int pid, const std::string& folder) {
  const std::string from = fmt::format("{}/{}/{}", proc, pid, folder.starts_with('/') ? "root" : "cwd/");
  return system::UniqueFd(::open((from + folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int pid_inside(const std::string& proc, int pid) {
  const auto text = system::read_text(fmt::format("{}/{}/status", proc, pid));
  const auto line = text ? system::field(*text, "NSpid") : std::nullopt;
  if (!line) return pid;
  const std::size_t last = line->find_last_of(" \t");
  const long inside = number_in(std::string_view(*line).substr(last == line->npos ? 0 : last + 1));
  return inside > 0 ? static_cast<int>(inside) : pid;
}

}  // namespace headrace::observe
