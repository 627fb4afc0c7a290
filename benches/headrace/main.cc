// headrace: the one binary. Finds the verb, runs it, turns exceptions into exit codes.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "benches/headrace/console.h"
#include "benches/headrace/help_text.h"
#include "benches/headrace/near_data.h"
#include "benches/headrace/old_verbs.h"
#include "benches/headrace/other_tools.h"
#include "benches/headrace/verb.h"
#include "benches/headrace/version.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/escape.h"
#include "harness/base/version.h"

namespace headrace::cli {
namespace {

// `--set a=1 b=2`: each of several settings after one --set is one.

/// "step.time=100ms": a key of a file, not a path that has a = in it.
bool is_setting(const std::string& word) {
  const std::size_t end = word.find('=');
  if (end == 0 || end == word.npos) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(end),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
}

/// The same words, with a --set before every KEY=VALUE that follows another one's value. What comes after "--" stays.
std::vector<std::string> each_setting_alone(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  bool after_setting = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      out.insert(out.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      return out;
    }
    if (words[i] == "--set" && i + 1 < words.size()) {
      out.insert(out.end(), {words[i], words[i + 1]});
      ++i;
      after_setting = true;
    } else if (after_setting && is_setting(words[i])) {
      out.insert(out.end(), {"--set", words[i]});
    } else {
      out.push_back(words[i]);
      after_setting = words[i].starts_with("--set=");
    }
  }
  return out;
}

/// "--out=" with an empty value is two words: CLI11 would take the next one. What comes after "--" stays.
std::vector<std::string> with_empty_values(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  bool ours = true;
  for (const std::string& word : words) {
    ours = ours && word != "--";
    const bool empty = ours && word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1;
    out.push_back(empty ? word.substr(0, word.size() - 1) : word);
    if (empty) out.emplace_back();
  }
  return out;
}

// The output of `headrace` alone: the commands to begin with, for the files of the current folder.

/// A hosts file's name among them, or "".
std::string hosts_file(const std::vector<std::string>& names) {
  for (const char* name : {"hosts", "hostfile", "hosts.txt", "machinefile"})
    if (std::ranges::find(names, name) != names.end()) return name;
  return "";
}

std::string here() {
  std::error_code gone;
  const std::filesystem::path path = std::filesystem::current_path(gone);
  return gone ? "DIR" : path.string();
}

/// Three commands, each with a line on its question. `names`: files of the current folder and its folders.
std::vector<Example> first_commands(const std::vector<std::string>& names) {
  std::vector<Example> all{{"headrace doctor", "Show this machine, and the tests that can run here"}};
  const NearData* const near = near_data(names);
  if (near != nullptr && !near->job.empty())
    all.push_back({"cd && headrace qualify configs/jobs/" + std::string(near->job) + ".yaml --data " +
                       shell_word(here()) + " --budget 1min",
                   "Can this storage feed a training job with the " + std::string(near->reads) + " of this folder?"});
  else
    all.push_back({"headrace qualify configs/jobs/resnet50-imagenet.yaml --at headrace-scratch --budget 1min",
                   "Can the storage of this folder feed a ResNet-50 on eight GPUs? Makes data in headrace-scratch"});
  const char* const slurm = std::getenv("SLURM_JOB_NODELIST");
  if (const std::string hosts = hosts_file(names); !hosts.empty())
    all.push_back({"headrace bringup --hosts " + hosts, "Which of these hosts, NICs and links are bad?"});
  else if (slurm != nullptr && *slurm != '\0')
    all.push_back({"scontrol show hostnames > hosts && headrace bringup --hosts hosts",
                   "Which hosts, NICs and links of this job are bad?"});
  else
    all.push_back({"headrace observe -- python3 train.py", "What does a training script wait for?"});
  return all;
}

struct Entry {
  int order;
  AddVerb add;
};

std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

void describe(ProgramDescription& program) {
  program.name = "headrace";
  program.help = "can this storage, host and network feed that training job?";
  program.version = kVersion;
  program.exit_codes = {{0, "every need met"},
                        {1, "error of the tool"},
                        {2, "usage or configuration error; nothing ran"},
                        {10, "FAIL: a need missed"},
                        {11, "INCONCLUSIVE"},
                        {12, "incomplete: something that was selected did not run"},
                        {77, "everything was skipped"},
                        {130, "interrupted (SIGINT)"},
                        {143, "terminated (SIGTERM)"}};
  program.examples = {{"headrace require configs/jobs/resnet50-imagenet.yaml", "What a job needs"},
                      {"headrace qualify configs/jobs/resnet50-imagenet.yaml --at /tmp/headrace-scratch --budget 1min",
                       "Measure what the job needs, with PASS or FAIL"}};
}

/// The first unknown option, or word that no verb takes, with the nearest known one; "" when there is none.
std::string unknown_word(const CLI::App& app, const ProgramDescription& program) {
  const std::vector<std::string> left = app.remaining(true);
  if (left.empty()) return "";
  const auto option = std::find_if(left.begin(), left.end(), [](const std::string& w) { return w.starts_with("-"); });
  const std::string given = option != left.end() ? option->substr(0, option->find('=')) : left.front();
  const VerbDescription* verb =
      app.get_subcommands().empty() ? nullptr : program.find(app.get_subcommands().front()->get_name());
  const std::string who = verb ? program.name + " " + verb->name : program.name;
  const std::string more = verb ? "headrace help " + verb->name : "headrace help";
  if (verb == nullptr && !left.front().starts_with("-")) {
    const std::string& word = left.front();
    return "headrace: no verb '" + word + "'" + did_you_mean_verb(word, program) + " (headrace help lists them)";
  }
  if (option == left.end()) {
    const bool hosts = verb != nullptr && verb->name == "bringup";
    return who + ": unexpected argument '" + given + "'" + (hosts ? "; did you mean --hosts " + given + "?" : "") +
           " (" + more + " lists what it takes)";
  }
  std::vector<std::string> known{"--help"};
  const auto add = [&](const std::deque<OptionDescription>& options) {
    for (const OptionDescription& one : options) known.insert(known.end(), one.names.begin(), one.names.end());
  };
  if (verb) add(verb->options);
  add(program.options);
  std::string theirs = option_of_other_tools(given);
  const bool here =
      std::ranges::any_of(known, [&](const auto& name) { return theirs.find(" " + name) != theirs.npos; });
  if (!here && (verb == nullptr || verb->name != "measure")) theirs.clear();
  return who + ": no option '" + given + "'" + (theirs.empty() ? did_you_mean(given, known) : theirs) + " (" + more +
         " lists them)";
}

/// "bash, fish or zsh" of "{bash,fish,zsh}" in CLI11's error.
std::string words_of(const std::string& what) {
  const std::size_t begin = what.find('{') + 1, end = what.find('}', begin), last = what.rfind(',', end);
  std::string out;
  for (std::size_t i = begin; i < end; ++i) out += what[i] != ',' ? std::string(1, what[i]) : i == last ? " or " : ", ";
  return out;
}

/// CLI11's error, and where help is. Its text: "--runs is required".
std::string wrong_word(const CLI::App& app, const CLI::ParseError& error, const ProgramDescription& program) {
  const bool wrong_value = error.get_name() == "ValidationError";  // the words after it are not read yet
  if (const std::string unknown = wrong_value ? "" : unknown_word(app, program); !unknown.empty()) return unknown;
  if (app.get_subcommands().empty())
    return error.get_name() == "RequiredError"
               ? "headrace: a verb is needed, such as qualify (headrace --help lists them)"
               : std::string("headrace: ") + error.what();
  const std::string verb = app.get_subcommands().front()->get_name();
  std::string what = error.what();
  if (const std::size_t at = what.find(" required TEXT:{"); at != what.npos && error.get_name() == "ArgumentMismatch")
    what = what.substr(0, what.rfind(' ', at - 1)) + (verb == "help" ? " name the shell: " : " name one of ") +
           words_of(what);
  else if (what.ends_with(" missing") && error.get_name() == "ArgumentMismatch")  // "--job: 1 required TEXT missing"
    what = what.substr(0, what.find(": ")) + " needs a value";
  constexpr std::string_view kExcludes = " excludes ";
  if (const std::size_t at = what.find(kExcludes); at != what.npos && error.get_name() == "ExcludesError")
    what = what.replace(at, kExcludes.size(), " and ") + " do not go together";
  return "headrace " + verb + ": " + what + " (headrace help " + verb + " has more)";
}

int print_help(const CLI::App& app, const ProgramDescription& program, bool all, const Shared& shared) {
  const Terminal terminal(stdout, shared);
  const auto chosen = app.get_subcommands();
  print(chosen.empty() ? program_help(program, terminal)
                       : verb_help(program, *program.find(chosen.front()->get_name()), all, terminal));
  return delivered(0);
}

/// The exit code of the verb, or of its exception.
int run_verb(const std::function<int()>& run) {
  try {
    return run ? run() : 0;
  } catch (const UsageError& e) {
    print_error(e);
    return 2;
  } catch (const std::bad_alloc&) {
    print_stderr_line(Text("headrace: too little memory; look at ulimit -v and memory.max of the control group"));
    return 1;
  } catch (const std::exception& e) {
    std::error_code gone;
    if (std::filesystem::current_path(gone).empty() && gone == std::errc::no_such_file_or_directory) {
      print_stderr_line(
          Text("headrace: the current directory no longer exists: change to another one, or name an "
               "absolute --out"));
      return 2;
    }
    print_stderr_line(Text::format("headrace: {}", e.what()));
    return 1;
  }
}

/// The messages of children to their parent.
std::atomic<results::Remark>* remark_of_all_processes() {
  using Shared = std::atomic<results::Remark>;
  static_assert(Shared::is_always_lock_free);
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw system_error("mmap", "a page", errno);
  return new (memory) Shared(results::Remark::none);
}

/// Whether it can open the files of every verb; libraries that cannot report other errors, or none.
bool enough_files() {
  constexpr rlim_t kLeast = 16;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kLeast) return true;
  print_stderr_line(Text::format("headrace: {} open files are needed at least", kLeast) +
                    Text::format("; the limit is {} open files; raise it with ulimit -n", limit.rlim_cur));
  return false;
}

int run_main(int argc, char** argv) {
  if (!enough_files()) return 1;
  ProgramDescription program;
  describe(program);
  CLI::App app{program.help, program.name};
  app.require_subcommand(1);
  app.fallthrough();
  Shared shared;
  shared.command.assign(argv, argv + argc);
  shared.remark = remark_of_all_processes();
  std::function<int()> run;
  constexpr const char* kEvery = "Options of every verb";
  Verb every(&app, &run, &program.options, &program.examples);
  every.group(kEvery);
  app.set_help_flag("-h,--help", "");
  program.options.push_back(
      {.names = {"-h", "--help"}, .value = "", .help = "Help, of a verb after its name", .group = kEvery});
  app.set_help_all_flag("--help-all", "");
  program.options.push_back(
      {.names = {"--help-all"}, .value = "", .help = "Help with rare options, too", .group = kEvery});
  app.set_version_flag("--version", "");
  program.options.push_back(
      {.names = {"--version"}, .value = "", .help = "Version, compiler and backends", .group = kEvery});
  every.option("--color WORD", shared.color, "Colours: auto, always or never")
      .one_of({"auto", "always", "never"})
      .shows_default();
  every.option("--progress WORD", shared.progress, "Progress on standard error: auto, plain, json or none")
      .one_of({"auto", "plain", "json", "none"})
      .shows_default();
  std::string exit_map = "headrace";
  every
      .option("--exit-map WORD", exit_map,
              "Exit codes as the caller wants them: headrace, posix, ctest, nagios, slurm-prolog, nhc or npd")
      .one_of(results::exit_map_names())
      .shows_default();
  app.add_flag("-v{1},-q{-1}", shared.verbosity, "");
  program.options.push_back({.names = {"-v"}, .value = "", .help = "More details", .group = kEvery});
  program.options.push_back({.names = {"-q"}, .value = "", .help = "Fewer messages", .group = kEvery});

  std::sort(entries().begin(), entries().end(), [](const Entry& a, const Entry& b) { return a.order < b.order; });
  Verbs verbs(app, run, program);
  for (const Entry& verb : entries()) verb.add(verbs, shared);
  if (argc == 1) {
    print(first_text(first_commands(names_near(".")), Terminal(stdout, shared)));
    return delivered(0);
  }
  try {
    const std::vector<std::string> given = with_empty_values({argv + 1, argv + argc});
    std::vector<std::string> words = with_new_verb(each_setting_alone(given), program);
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(words);
  } catch (const CLI::CallForVersion&) {
    print_line(version_text());
    return delivered(0);
  } catch (const CLI::CallForHelp&) {
    return print_help(app, program, false, shared);
  } catch (const CLI::CallForAllHelp&) {
    return print_help(app, program, true, shared);
  } catch (const CLI::ParseError& e) {
    print_stderr_line(Text(wrong_word(app, e, program)));
    return delivered(2);
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
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error that can be reported, EFBIG
  return headrace::cli::run_main(argc, argv);
}
