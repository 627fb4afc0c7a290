#include "harness/workload/peer/greeting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "harness/base/error.h"
#include "harness/base/version.h"

namespace headrace::peer {

using nlohmann::json;

Greeting own_greeting() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return {.token = "", .host = host, .version = kVersion, .protocol = kProtocol, .refused = ""};
}

Greeting refusal(const std::string& why) {
  return {.token = "", .host = "", .version = "", .protocol = kProtocol, .refused = why};
}

std::string to_bytes(const Greeting& g) {
  return json{
      {"token", g.token}, {"host", g.host}, {"version", g.version}, {"protocol", g.protocol}, {"refused", g.refused}}
      .dump();
}

Greeting greeting_from(const std::string& bytes, const Secrets& secrets) {
  try {
    const json j = json::parse(bytes);
    return {.token = j.at("token"),
            .host = secrets.struck_out(j.at("host").get<std::string>()),
            .version = secrets.struck_out(j.at("version").get<std::string>()),
            .protocol = j.at("protocol"),
            .refused = secrets.struck_out(j.at("refused").get<std::string>())};
  } catch (const json::exception&) {
    throw RunError("the program at that port is not headrace");
  }
}

std::string versions_differ(const Greeting& here, const Greeting& there) {
  if (here.protocol == there.protocol && here.version == there.version) return "";
  return fmt::format(
      "headrace {} (peer protocol {}) on {} and {} (peer protocol {}) on {} do not fit: install the same version on "
      "both",
      here.version, here.protocol, here.host, there.version, there.protocol, there.host);
}

}  // namespace headrace::peer
