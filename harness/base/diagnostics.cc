// Collecting problems, significant them at once, and guessing which known word was meant.
#include "harness/base/diagnostics.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "harness/base/diagnostics.h"
#include "harness/base/printable.h"

namespace headrace {
namespace {

/// Edits that turn `a` into `b`: insert, delete, replace, or swap of neighbours, each counted once.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string lower(std::string_view word) {
  std::string text(word);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = diagnostic.where.file;
  if (diagnostic.where.line > 0) {
    text += ':' + std::to_string(diagnostic.where.line);
    if (diagnostic.where.column > 0) text += ':' + std::to_string(diagnostic.where.column);
  }
  return text.empty() ? diagnostic.text : text + ": " + diagnostic.text;
}

/// Control characters are reported as escapes.
void Diagnostics::error(Location where, const std::string& text) {
  errors_.push_back({std::move(where), printable(text)});
}

void Diagnostics::throw_if_any() const {
  if (errors_.empty()) return;
  // In the order of the file, so that a reader mends it from top to bottom. Files in the order they were met.
  const auto file_rank = [&](const Diagnostic& d) {
    return std::find_if(errors_.begin(), errors_.end(),
                        [&](const Diagnostic& e) { return e.where.file == d.where.file; }) -
           errors_.begin();
  };
  std::vector<const Diagnostic*> sorted;
  for (const Diagnostic& error : errors_) sorted.push_back(&error);
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Diagnostic* a, const Diagnostic* b) {
    const auto rank_a = file_rank(*a), rank_b = file_rank(*b);
    if (rank_a != rank_b) return rank_a < rank_b;
    return std::pair{a->where.line, a->where.column} < std::pair{b->where.line, b->where.column};
  });
  std::string all;
  for (const Diagnostic* error : sorted) {
    if (!all.empty()) all += '\n';
    all += printable(to_string(*error));
  }
  throw UsageErrors(all);
}

std::string nearest(std::string_view word, std::span<const std::string> known) {
  const std::string wanted = lower(word);
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, wanted.size() / 3) + 1;  // further away is not a slip
  for (const std::string& candidate : known) {
    const std::size_t longer = std::max(wanted.size(), candidate.size()),
                      shorter = std::min(wanted.size(), candidate.size());
    const bool unfinished = wanted.size() >= 3 && lower(candidate).starts_with(wanted);
    if (longer - shorter >= best_distance && !unfinished) continue;
    std::size_t distance = edit_distance(wanted, lower(candidate));
    // A word that was left unfinished is meant more surely than one with other letters.
    if (unfinished) distance = 1;
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  if (!best.empty() || wanted.size() < 4) return best;
  // A part of a name ("uring" for io_uring), when only one name has it; else the beginning of one.
  for (const std::string& candidate : known) {
    const std::string whole = lower(candidate);
    if (whole.size() < 4 || (whole.find(wanted) == whole.npos && wanted.find(whole) == wanted.npos)) continue;
    if (!best.empty()) return best;
    best = candidate;
  }
  if (!best.empty()) return best;
  best_distance = std::max<std::size_t>(1, wanted.size() / 5) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() <= wanted.size()) continue;
    for (const std::size_t length : {wanted.size(), wanted.size() + 1}) {
      const std::size_t distance = edit_distance(wanted, lower(candidate).substr(0, length));
      if (distance < best_distance) {
        best_distance = distance;
        best = candidate;
      }
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string best = nearest(word, known);
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

std::string join(std::span<const std::string> words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

}  // namespace headrace
