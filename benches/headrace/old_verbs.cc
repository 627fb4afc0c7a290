#include "benches/headrace/old_verbs.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "benches/headrace/console.h"
#include "harness/base/diagnostics.h"

namespace headrace::cli {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kGoAway = "0.3";  // the version without them
constexpr std::string_view kNone = "none";

struct OldVerb {
  std::string_view name;
  std::string_view with;                // only where its words have this option; "" = always
  std::string_view now;                 // as it is typed: "verdict RUN --expect"
  std::vector<std::string_view> words;  // that take its place
  std::vector<std::string_view>
      arguments;  // the option that each of its arguments now belongs to, the last of all that follow. "" = the
                  // argument stays alone, kNone = it is dropped
  std::string_view old_option = "", new_option = "";  // renamed; to "": its value is an argument
  std::string_view required = "";
};

const OldVerb kOldVerbs[] = {
    {"plan", "", "run --dry-run", {"run", "--dry-run"}, {""}},
    {"validate", "", "run --check", {"run", "--check"}, {""}},
    {"version", "", "--version", {"--version"}, {""}},
    {"judge", "", "verdict RUN --job JOB", {"verdict"}, {"", "--job"}, "", "", "--job"},
    {"aa", "", "run --against-itself", {"run", "--against-itself"}, {""}, "--pairs", "--blocks"},
    {"replay", "", "observe --replay FILE", {"observe"}, {"--replay"}, "", "", "--replay"},
    {"expect", "--run", "verdict RUN --expect", {"verdict", "--expect"}, {kNone}, "--run", ""},
    {"expect", "", "doctor --expect", {"doctor", "--expect"}, {""}},
    {"formula", "", "require --formula", {"require"}, {"--formula"}, "", "", "--formula"},
    {"export", "", "report RUN --format WORD", {"report"}, {""}, "", "", "--format"},
    {"completion", "", "help --completion SHELL", {"help"}, {"--completion"}, "", "", "--completion"},
    {"serve", "", "run --serve ADDRESS", {"run"}, {""}, "--listen", "--serve", "--serve"}};

/// "--run" of "--run=DIR".
std::string_view name_of(std::string_view word) { return word.substr(0, word.find('=')); }

bool has(const Words& words, std::string_view option) {
  return std::ranges::any_of(words, [=](const std::string& word) { return name_of(word) == option; });
}

bool takes_value(const std::deque<OptionDescription>& options, std::string_view name) {
  return std::ranges::any_of(options, [=](const OptionDescription& option) {
    return !option.value.empty() && std::ranges::find(option.names, name) != option.names.end();
  });
}

/// Where the verb is, which options of every verb may come before; or the end.
std::size_t place_of_verb(const Words& words, const ProgramDescription& program) {
  std::size_t i = 0;
  while (i < words.size() && words[i].starts_with("-")) i += takes_value(program.options, words[i]) ? 2 : 1;
  return std::min(i, words.size());
}

const OldVerb* old_verb(std::string_view name, const Words& words) {
  const auto* found = std::ranges::find_if(
      kOldVerbs, [&](const OldVerb& old) { return old.name == name && (old.with.empty() || has(words, old.with)); });
  return found == std::end(kOldVerbs) ? nullptr : found;
}

/// The words after the verb.
Words renamed(const OldVerb& old, const Words& given, const ProgramDescription& program) {
  const VerbDescription* const verb = program.find(std::string(old.words.front()));
  Words out;
  std::size_t arguments = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string& word = given[i];
    if (word == "--" && !old.arguments.back().empty()) continue;  // an option may follow now
    if (!word.starts_with("-") || word == "-") {
      const std::string_view option = old.arguments[std::min(arguments++, old.arguments.size() - 1)];
      if (option == kNone) continue;
      if (!option.empty()) out.emplace_back(option);
      out.push_back(word);
      continue;
    }
    std::string_view name = name_of(word);
    const bool apart = name.size() == word.size();  // its value is the next word
    if (!old.old_option.empty() && name == old.old_option) {
      if (!old.new_option.empty()) out.push_back(std::string(old.new_option) + word.substr(name.size()));
      if (old.new_option.empty() && !apart) out.push_back(word.substr(name.size() + 1));
      if (apart && i + 1 < given.size()) out.push_back(given[++i]);
      continue;
    }
    out.push_back(word);
    const bool valued = takes_value(program.options, name) || (verb != nullptr && takes_value(verb->options, name));
    if (apart && valued && i + 1 < given.size()) out.push_back(given[++i]);
  }
  const bool asks_for_help = has(out, "--help") || has(out, "-h") || has(out, "--help-all");
  // Without its value, so that the missing option is named.
  if (!old.required.empty() && !asks_for_help && !has(out, old.required)) out.emplace_back(old.required);
  return out;
}

void print_new_name(const OldVerb& old, const Words& words) {
  if (!has(words, "-q"))
    print_stderr_line(Text::format("headrace {} is now headrace {}; the old name goes away in version {}", old.name,
                                   old.now, kGoAway));
}

}  // namespace

std::string did_you_mean_verb(const std::string& word, const ProgramDescription& program) {
  Words known;
  for (const VerbDescription& verb : program.verbs) known.push_back(verb.name);
  for (const OldVerb& old : kOldVerbs) known.emplace_back(old.name);
  const std::string near = nearest(word, known);
  const OldVerb* const old = old_verb(near, {});
  return near.empty() ? "" : "; did you mean '" + (old != nullptr ? std::string(old->now) : near) + "'?";
}

Words with_new_verb(const Words& words, const ProgramDescription& program) {
  const std::size_t at = place_of_verb(words, program);
  if (at == words.size()) return words;
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(at);
  Words out(words.begin(), begin);
  const Words after(begin + 1, words.end());
  if (*begin == "help") {  // of an old verb
    out.push_back(*begin);
    for (const std::string& word : after) {
      const OldVerb* const old = old_verb(word, {});
      if (old != nullptr) print_new_name(*old, words);
      const std::string now(old != nullptr ? old->words.front() : word);
      if (old == nullptr || program.find(now) != nullptr) out.push_back(now);
    }
    return out;
  }
  const OldVerb* const old = old_verb(*begin, after);
  if (old == nullptr) return words;
  print_new_name(*old, words);
  out.insert(out.end(), old->words.begin(), old->words.end());
  const Words more = renamed(*old, after, program);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace headrace::cli
