// headrace: the one binary. Finds the verb, runs it, turns exceptions into exit codes.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <sstream>

#include "benches/headrace/console.h"
#include "benches/headrace/verb.h"
#include "benches/headrace/version.h"
#include "harness/diagnostics.h"
#include "harness/error.h"

namespace headrace::cli {
namespace {

struct Entry {
  int order;
  AddVerb add;
};

std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

constexpr const char* kFooter = R"(Exit codes:
  0 every need met          10 FAIL: a need missed        130 interrupted (SIGINT)
  1 error of the tool       11 INCONCLUSIVE               143 terminated (SIGTERM)
  2 usage or config error   12 incomplete                  77 everything was skipped

Start here:  headrace require configs/jobs/resnet50-imagenet.yaml
             headrace qualify -c configs/quickstart.yaml --job configs/jobs/resnet50-imagenet.yaml)";

/// What is wrong with the verb, when it is the verb that is wrong; else "".
std::string unknown_verb(const CLI::App& app) {
  if (!app.get_subcommands().empty() || app.remaining().empty() || app.remaining().front().starts_with("-")) return "";
  std::vector<std::string> known;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) known.push_back(verb->get_name());
  const std::string given = app.remaining().front();
  return "headrace: no verb '" + given + "'" + did_you_mean(given, known) + " (verbs: " + join(known) + ")";
}

/// What the verb says, or what its exception stands for.
int run_verb(const std::function<int()>& run) {
  try {
    return run ? run() : 0;
  } catch (const UsageError& e) {
    tell_error(e);
    return 2;
  } catch (const std::exception& e) {
    tell_line(Text::format("headrace: {}", e.what()));
    return 1;
  }
}

/// What children say to their parent.
std::atomic<results::Remark>* remark_of_all_processes() {
  using Shared = std::atomic<results::Remark>;
  static_assert(Shared::is_always_lock_free);
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw system_error("mmap", "a page", errno);
  return new (memory) Shared(results::Remark::none);
}

/// Whether it can open what every verb opens; libraries that cannot say other things, or nothing.
bool enough_files() {
  constexpr rlim_t kLeast = 16;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kLeast) return true;
  tell_line(Text::format("headrace: {} open files are needed at least", kLeast) +
            Text::format("; the limit is {} open files; raise it with ulimit -n", limit.rlim_cur));
  return false;
}

int run_main(int argc, char** argv) {
  if (!enough_files()) return 1;
  CLI::App app{"headrace - can this storage, host and network feed that training job?", "headrace"};
  app.footer(kFooter);
  app.require_subcommand(1);
  app.fallthrough();
  Shared shared;
  shared.command.assign(argv, argv + argc);
  shared.remark = remark_of_all_processes();
  app.set_version_flag(
      "--version", [] { return version_text().str(); },
      "Version, compiler and backends, with the reason where one is missing");
  app.add_option("--color", shared.color, "auto, always or never")->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option("--progress", shared.progress, "auto, plain, json or none")
      ->check(CLI::IsMember({"auto", "plain", "json", "none"}));
  std::string exit_map = "headrace";
  app.add_option("--exit-map", exit_map,
                 "Exit codes as the caller wants them: headrace, posix, ctest, nagios, "
                 "slurm-prolog or nhc")
      ->check(CLI::IsMember(results::exit_map_names()));
  app.add_flag("-v{1},-q{-1}", shared.verbosity, "More (-v) or less (-q) on standard error");

  std::function<int()> run;
  std::sort(entries().begin(), entries().end(), [](const Entry& a, const Entry& b) { return a.order < b.order; });
  Verbs verbs(app, run);
  for (const Entry& verb : entries()) verb.add(verbs, shared);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (const std::string unknown = unknown_verb(app); !unknown.empty()) {
      tell_line(unknown);
      return 2;
    }
    std::ostringstream out, errors;
    const int code = app.exit(e, out, errors);
    print_document(out.str());
    tell(Text::lines(errors.str()));
    return delivered(code == 0 ? 0 : 2);
  }
  shared.exit_map = *results::exit_map_named(exit_map);
  const pid_t started = ::getpid();
  const int code = delivered(run_verb(run));
  // A child that measures hands its code to its parent as it is.
  return ::getpid() == started ? results::mapped_exit(shared.exit_map, code, *shared.remark) : code;
}

}  // namespace

RegisterVerb::RegisterVerb(int order, AddVerb add) { entries().push_back({order, add}); }

}  // namespace headrace::cli

int main(int argc, char** argv) {
  headrace::cli::open_closed_streams();
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error that can be told, EFBIG
  return headrace::cli::run_main(argc, argv);
}
