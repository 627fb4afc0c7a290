#include "benches/headrace/answer.h"

namespace headrace::cli {

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
  if (!answer.next.empty()) out += "Next: " + wrap(answer.next, width - 6, 6) + "\n";
  return out + "\n";
}

}  // namespace headrace::cli
