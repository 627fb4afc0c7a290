// As NCCL's src/misc/param.cc and src/misc/socket.cc have it.
#include "harness/machine/network/nccl_settings.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include "harness/base/system/kernel_files.h"

namespace headrace {
namespace {

constexpr std::string_view kPrefix = "NCCL_";

/// From the user database, as in NCCL; HOME is ignored.
std::string home_of_user() {
  passwd entry{}, *found = nullptr;
  char buffer[4096];
  return ::getpwuid_r(::getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr ? found->pw_dir : "";
}

/// The first one wins. Blanks belong to the name and to the value.
void add(std::map<std::string, NcclSetting>& all, std::string_view one, const std::string& source) {
  const std::size_t equals = one.find('=');
  if (!one.starts_with(kPrefix) || equals == one.npos) return;
  const std::string name(one.substr(0, equals));
  all.emplace(name, NcclSetting{name, std::string(one.substr(equals + 1)), source});
}

void add_file(std::map<std::string, NcclSetting>& all, const std::string& path) {
  for (const std::string& line : system::split(system::read_text(path).value_or(""), '\n')) add(all, line, path);
}

int port_in(std::string_view text) {
  int port = 0;  // as atoi() reads it
  std::from_chars(text.data(), text.data() + text.size(), port);
  return port;
}

}  // namespace

std::string NcclSetting::in_words() const { return name + "=" + value + (source.empty() ? "" : " (" + source + ")"); }

std::vector<NcclSetting> nccl_settings(const std::string& etc, const std::string& home) {
  std::map<std::string, NcclSetting> all;
  for (char** one = environ; *one != nullptr; ++one) add(all, *one, "");
  const char* const file = std::getenv("NCCL_CONF_FILE");
  const std::string own = home.empty() ? home_of_user() : home;
  if (file != nullptr && *file != '\0')
    add_file(all, file);
  else if (!own.empty())
    add_file(all, own + "/.nccl.conf");
  add_file(all, etc + "/nccl.conf");
  std::vector<NcclSetting> settings;
  for (auto& [name, setting] : all) settings.push_back(std::move(setting));
  return settings;
}

std::optional<NcclSetting> nccl_setting(std::string_view name) {
  for (NcclSetting& one : nccl_settings())
    if (one.name == name && !one.value.empty()) return std::move(one);
  return std::nullopt;
}

std::optional<unsigned> nccl_number(std::string_view name) {
  const auto setting = nccl_setting(name);
  if (!setting) return std::nullopt;
  char* end = nullptr;
  const long number = std::strtol(setting->value.c_str(), &end, 0);
  if (end == setting->value.c_str() || number < 0) return std::nullopt;
  return static_cast<unsigned>(number);
}

NcclRdma nccl_rdma() {
  NcclRdma all;
  const auto read = [&](const char* name, unsigned most) -> std::optional<unsigned> {
    const auto number = nccl_number(name);
    if (!number || *number > most) return std::nullopt;
    all.words += (all.words.empty() ? "" : ", ") + nccl_setting(name)->in_words();
    return number;
  };
  all.roce_gid_index = read("NCCL_IB_GID_INDEX", 65535);
  all.traffic_class = read("NCCL_IB_TC", 255);
  all.service_level = read("NCCL_IB_SL", 15);
  all.partition_index = read("NCCL_IB_PKEY", 65535);
  return all;
}

NcclList::NcclList(std::string_view text) {
  if (text.starts_with('^')) all_but = true, text.remove_prefix(1);
  if (text.starts_with('=')) whole = true, text.remove_prefix(1);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t colon = word.find(':');
    if (colon == 0 || word.empty()) continue;
    entries.push_back({std::string(word.substr(0, colon)), colon == word.npos ? -1 : port_in(word.substr(colon + 1))});
  }
}

bool NcclList::names(const Entry& entry, std::string_view name, int port) const {
  if (whole ? name != entry.name : !name.starts_with(entry.name)) return false;
  return port == -1 || entry.port == -1 || port == entry.port;
}

bool NcclList::selects(std::string_view name, int port) const {
  const bool named = entries.empty() || std::any_of(entries.begin(), entries.end(),
                                                    [&](const Entry& entry) { return names(entry, name, port); });
  return named != all_but;
}

}  // namespace headrace
