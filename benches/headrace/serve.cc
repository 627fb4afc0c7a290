// headrace serve: the other end of network measurements that a headrace on another host leads.
#include <fmt/format.h>
#include <signal.h>

#include <cstdio>

#include "benches/headrace/console.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/base/units.h"
#include "harness/engine/engine.h"
#include "harness/machine/node.h"
#include "harness/workload/peer/follow.h"
#include "harness/workload/peer/listener.h"

namespace headrace::cli {
namespace {

constexpr std::size_t kShortestToken = 16;  // characters: nobody guesses so many at 5 tries a second

struct ServeArguments {
  std::string listen, token, timeout = "10min";
  bool once = false;
};

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("[::1]") || address.starts_with("::1") ||
         address.starts_with("localhost");
}

void on_serve_signal(int number) { stop_signal = number; }

int serve(const ServeArguments& arguments, const Shared& shared) {
  const peer::Endpoint at = peer::parse_endpoint(arguments.listen, "--listen");
  const double timeout_s = time_option("--timeout", arguments.timeout, "10min");

  struct sigaction action {};
  action.sa_handler = on_serve_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);

  const auto log = [&](const std::string& text) {
    if (shared.verbosity >= 0) print_stderr_line(Text::format("serve: {}", text));
  };
  peer::Listener listener(at, arguments.token);
  if (is_loopback(listener.address()) && !is_loopback(arguments.listen))
    print_stderr_line(
        Text::format("serve: {} is {} here, a loopback address: no other host can connect; name an address of "
                     "this host's network",
                     at.host, listener.address()));
  if (arguments.token.size() < kShortestToken)
    throw UsageError(
        fmt::format("serve: --token TEXT (or HEADRACE_TOKEN) must have at least {} characters, {} are given; make one "
                    "with `export HEADRACE_TOKEN=$(openssl rand -hex 16)`, and give it to `headrace run --peer`, too",
                    kShortestToken, arguments.token.size()));
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

void add_serve(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("serve", "Run the remote endpoint for `run --peer HOST`");
  auto arguments = std::make_shared<ServeArguments>();
  verb.option("--listen ADDRESS", arguments->listen,
              "Address to bind to, and no other: ADDRESS, ADDRESS:PORT, [IPV6]:PORT; port 18620")
      .required();
  verb.option("--token", arguments->token, "Secret of at least 16 characters that `headrace run --peer` must give, too")
      .or_environment("HEADRACE_TOKEN");
  verb.option("--timeout TIME", arguments->timeout,
              "Idle limit: end without a peer, and drop a silent peer, after this time")
      .shows_default();
  verb.flag("--once", arguments->once, "End after the first peer");
  verb.example("headrace serve --listen 127.0.0.1:18620 --token $(openssl rand -hex 16)",
               "Waits for `headrace run --peer` of another host");
  verb.does([&shared, arguments] { return serve(*arguments, shared); });
}

const RegisterVerb registered_serve{85, add_serve};

}  // namespace
}  // namespace headrace::cli
