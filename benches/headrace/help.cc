// headrace help: what the command line itself offers.
#include <fmt/format.h>

#include "benches/headrace/completion_script.h"
#include "benches/headrace/console.h"
#include "benches/headrace/help_text.h"
#include "benches/headrace/man_page.h"
#include "benches/headrace/old_verbs.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"

namespace headrace::cli {
namespace {

struct HelpArguments {
  std::string verb, shell;
  bool all = false, man = false, verbs = false;
};

std::vector<std::string> names_of_verbs(const ProgramDescription& program) {
  std::vector<std::string> names;
  for (const VerbDescription& verb : program.verbs) names.push_back(verb.name);
  return names;
}

int help(const HelpArguments& arguments, const ProgramDescription& program, const Shared& shared) {
  if (arguments.verbs) {
    print_document(join(names_of_verbs(program), "\n") + "\n");
    return 0;
  }
  if (!arguments.shell.empty()) {
    print_document(arguments.shell == "bash" ? bash_completion(program) : zsh_completion(program));
    return 0;
  }
  const VerbDescription* verb = program.find(arguments.verb);
  if (verb == nullptr && !arguments.verb.empty()) {
    throw UsageError(fmt::format("help: no verb '{}'{} (headrace help lists them)", arguments.verb,
                                 did_you_mean_verb(arguments.verb, program)));
  }
  const Terminal terminal(stdout, shared);
  if (arguments.man)
    print_document(verb ? verb_man(program, *verb) : program_man(program));
  else
    print(verb ? verb_help(program, *verb, arguments.all, terminal) : program_help(program, terminal));
  return 0;
}

void add_help(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("help", "Print this list, the options of one verb, or a completion script");
  auto a = std::make_shared<HelpArguments>();
  verb.option("VERB", a->verb, "A verb; without one, all of them are listed").suggests(names_of_verbs(verbs.program()));
  verb.flag("--all", a->all, "Include rare options, as headrace VERB --help-all does");
  verb.flag("--man", a->man, "Print it as a manual page, for man -l");
  verb.flag("--verbs", a->verbs, "Print the names of all verbs, one a line");
  verb.option("--completion SHELL", a->shell, "Print the completion script for a shell, bash or zsh")
      .one_of({"bash", "zsh"});
  verb.alone("--completion", {});
  verb.example("headrace help run", "What `run` takes");
  verb.example("headrace help --man run",
               "The same as a manual page: save it as headrace-run.1 and read it with man -l");
  verb.example("headrace help --completion bash", "For one's own shell: source <(headrace help --completion bash)");
  verb.does([&shared, a, &program = verbs.program()] { return help(*a, program, shared); });
}

// Last, so that it knows the other verbs.
const RegisterVerb help_registered{130, add_help};

}  // namespace
}  // namespace headrace::cli
