#include "benches/headrace/answer.h"

#include <algorithm>
#include <array>

namespace headrace::cli {

Text step_text(std::string_view lead, const std::string& step, std::size_t width) {
  constexpr std::array<std::string_view, 4> kCommands{"headrace ", "scontrol ", "kubectl ", "DataLoader("};
  const std::size_t indent = lead.size(), room = width - indent;
  if (std::ranges::none_of(kCommands, [&](std::string_view begin) { return step.starts_with(begin); }))
    return Text(lead) + wrap(step, room, indent) + "\n";
  const std::size_t comment = step.size() > room ? step.find("  # ") : step.npos;
  if (comment == step.npos) return Text(lead) + Text(step) + "\n";
  return Text(lead) + Text(step.substr(0, comment)) + "\n" + pad("", indent) +
         wrap(step.substr(comment + 2), room, indent + 2) + "\n";
}

Answer answer_of(Outcome word, std::string_view sentences, Text next) {
  const std::size_t end = std::min(sentences.find(". "), sentences.size());
  const bool more = end < sentences.size();
  return {.word = word,
          .sentence = Text(sentences.substr(0, more ? end + 1 : end)),
          .cause = more ? Text(sentences.substr(end + 2)) : Text(),
          .next = std::move(next)};
}

Text answer_text(const Answer& answer, const Terminal& terminal) {
  if (answer.sentence.empty()) return "";
  const std::size_t width = terminal.text_width();
  Text word;
  if (answer.word) word = Text(to_string(*answer.word));
  Text out = answer.word ? terminal.paint(word, Terminal::ink_of(*answer.word)) + ": " : Text();
  out += wrap(answer.sentence, width - columns(word) - 2, 2) + "\n";
  if (!answer.cause.empty()) out += "  " + wrap(answer.cause, width - 2, 4) + "\n";
  for (const Text& cause : answer.causes) out += "  " + wrap(cause, width - 2, 4) + "\n";
  if (!answer.next.empty()) out += step_text("Next: ", answer.next.str(), width);
  return out + "\n";
}

}  // namespace headrace::cli
