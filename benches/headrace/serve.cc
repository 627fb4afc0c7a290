#include "benches/headrace/serve.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>

#include "benches/headrace/console.h"
#include "harness/base/diagnostics.h"
#include "harness/base/units.h"
#include "harness/engine/engine.h"
#include "harness/machine/node.h"
#include "harness/workload/peer/follow.h"
#include "harness/workload/peer/listener.h"

namespace headrace::cli {
namespace {

constexpr std::size_t kShortestToken = 16;  // characters: nobody guesses so many at 5 tries a second

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("[::1]") || address.starts_with("::1") ||
         address.starts_with("localhost");
}

void on_serve_signal(int number) { stop_signal = number; }

}  // namespace

int serve(const ServeArguments& arguments, const std::string& token, const Shared& shared) {
  const peer::Endpoint at = peer::parse_endpoint(arguments.address, "--serve");
  const double timeout_s = time_option("--timeout", arguments.timeout, "10min");

  struct sigaction action {};
  action.sa_handler = on_serve_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);

  const auto log = [&](const std::string& text) {
    if (shared.verbosity >= 0) print_stderr_line(Text::format("serve: {}", text));
  };
  peer::Listener listener(at, token);
  if (is_loopback(listener.address()) && !is_loopback(arguments.address))
    print_stderr_line(
        Text::format("serve: {} is {} here, a loopback address: no other host can connect; name an address of "
                     "this host's network",
                     at.host, listener.address()));
  if (token.size() < kShortestToken)
    throw UsageError(
        fmt::format("serve: --token TEXT (or HEADRACE_TOKEN) must have at least {} characters, {} are given; make one "
                    "with `export HEADRACE_TOKEN=$(openssl rand -hex 16)`, and give it to `headrace run --peer`, too",
                    kShortestToken, token.size()));
  // For those who start it: where it listens, once it does.
  print_line(Text::format("listening on {}", listener.address()));
  if (const int code = delivered(0)) return code;
  unsigned served = 0;
  while (!(arguments.once && served > 0)) {
    const std::shared_ptr<peer::TcpPeer> leader =
        listener.accept(timeout_s, log, [] { return stop_signal.load() != 0; });
    if (const int number = stop_signal.load()) return 128 + number;
    if (!leader) {
      log(fmt::format("no peer connected within {}", arguments.timeout));
      return served > 0 ? 0 : 1;
    }
    ++served;
    log(fmt::format("{} leads", leader->host(0)));
    Node node("");  // no folder: a follower writes nothing
    node.meet(leader);
    peer::follow(*leader, node, timeout_s, log);
    log(fmt::format("{} has left", leader->host(0)));
  }
  return 0;
}

void add_serve_options(Verb& verb, ServeArguments& arguments) {
  constexpr const char* kHeading = "Remote end of network workloads";
  verb.group(kHeading, true);
  verb.option(
      "--serve ADDRESS", arguments.address,
      "Measure what `run --peer` of another host asks for; bind to ADDRESS, ADDRESS:PORT or [IPV6]:PORT, and no "
      "other (port 18620)");
  verb.group(kHeading, true, "--serve");
  verb.option("--timeout TIME", arguments.timeout,
              "Idle limit: end without a peer, and drop a silent peer, after this time")
      .shows_default();
  verb.flag("--once", arguments.once, "End after the first peer");
  verb.alone("--serve", {"--token"});
}

}  // namespace headrace::cli
