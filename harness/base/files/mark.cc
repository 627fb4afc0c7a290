#include "harness/base/files/mark.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "harness/base/version.h"

namespace headrace::files {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr std::string_view kPrefix = "headrace.";

std::string this_host() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return host;
}

/// It exists only until its parent collects its exit status.
bool has_ended(long pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name = stat.rfind(')');  // "12 (a name) Z 1 ..."
  return name != std::string::npos && name + 2 < stat.size() && (stat[name + 2] == 'Z' || stat[name + 2] == 'X');
}

std::string text_at(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<Holder> holder_at(const nlohmann::json& json) {
  const auto found = json.find("holder");
  if (found == json.end() || !found->is_object()) return std::nullopt;
  Holder holder{0, text_at(*found, "host"), text_at(*found, "since_utc")};
  if (const auto pid = found->find("pid"); pid != found->end() && pid->is_number_integer())
    holder.pid = pid->get<long>();
  return holder;
}

}  // namespace

Holder Holder::this_process() {
  char since[32];
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S", &utc);
  return {::getpid(), this_host(), since};
}

bool Holder::may_live() const {
  if (host != this_host()) return true;
  return !has_ended(pid) && (::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH);
}

std::string Holder::text() const { return fmt::format("pid {} on {} since {} UTC", pid, host, since_utc); }

std::optional<Mark> parse_mark(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const std::string kind = text_at(json, "kind");
  if (!kind.starts_with(kPrefix) || kind.size() == kPrefix.size()) return std::nullopt;
  Mark mark{kind.substr(kPrefix.size()), false, holder_at(json), text_at(json, "token"), {}};
  if (const auto made = json.find("made"); made != json.end()) mark.made = made->is_boolean() && made->get<bool>();
  if (const auto files = json.find("files"); files != json.end() && files->is_object()) {
    for (const auto& [name, digests] : files->items())
      for (const auto& digest : digests)
        if (digest.is_string() && name.find('/') == name.npos) mark.files[name].push_back(digest.get<std::string>());
  }
  return mark;
}

std::string mark_text(const Mark& mark) {
  Json json{
      {"kind", std::string(kPrefix) + mark.kind}, {"schema", kSchema}, {"version", kVersion}, {"made", mark.made}};
  if (mark.holder)
    json["holder"] = {{"pid", mark.holder->pid}, {"host", mark.holder->host}, {"since_utc", mark.holder->since_utc}};
  if (!mark.token.empty()) json["token"] = mark.token;
  if (!mark.files.empty()) json["files"] = mark.files;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string digest_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{}-{:016x}", text.size(), hash);
}

}  // namespace headrace::files
