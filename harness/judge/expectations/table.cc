#include "harness/judge/expectations/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "harness/base/config/document.h"
#include "harness/base/config/value_reader.h"
#include "harness/base/units.h"

namespace headrace::expectations {

extern const char* const kCarriedTable;  // made of expectations.yaml by the build

namespace {

using config::Value;
using config::ValueReader;

/// The text of a scalar or of each item of a list.
std::vector<std::string> words_of(ValueReader& reader, const Value& value, const std::string& key) {
  std::vector<std::string> words;
  if (value.is_scalar()) words.push_back(value.text);
  for (const Value& item : value.items) {
    if (item.is_scalar())
      words.push_back(item.text);
    else
      reader.refuse(item, key, "a word is expected");
  }
  if (words.empty() && value.items.empty()) reader.refuse(value, key, "a word, or a list of words, is expected");
  return words;
}

std::string needed_text(ValueReader& reader, const Value& entry, const char* key) {
  const Value* found = entry.find(key);
  if (found == nullptr) reader.refuse(entry, key, "missing");
  return reader.text(found, key);
}

std::string part_of(ValueReader& reader, const Value& entry) {
  std::string part = needed_text(reader, entry, "part");
  const auto& known = part_kinds();
  if (entry.find("part") != nullptr && std::find(known.begin(), known.end(), part) == known.end())
    reader.refuse(*entry.find("part"), "part",
                  fmt::format("'{}' is not one of: {}{}", part, join(known), did_you_mean(part, known)));
  return part;
}

RateEntry rate_entry(const Value& entry, Diagnostics& problems) {
  ValueReader reader(problems, "rates");
  reader.known_keys(entry, {"part", "name", "rate", "unknown", "source"});
  RateEntry one;
  one.part = part_of(reader, entry);
  one.name = needed_text(reader, entry, "name");
  one.source = needed_text(reader, entry, "source");
  one.unknown = reader.text(entry.find("unknown"), "unknown");
  constexpr double kLeast = 1;  // B/s
  one.rate = reader.quantity(entry.find("rate"), "rate", Dimension::bytes_per_second, kLeast).value_or(0);
  if ((entry.find("rate") == nullptr) == one.unknown.empty())
    reader.refuse(entry, "rate", "either a rate or, as `unknown`, why there is none");
  return one;
}

/// [low, high], both shares.
void usual_of(ValueReader& reader, const Value& entry, FigureEntry& one) {
  const Value* usual = entry.find("usual");
  if (usual == nullptr || usual->items.size() != 2) {
    reader.refuse(usual == nullptr ? entry : *usual, "usual", "two shares are expected, as in [0.8, 0.9]");
    return;
  }
  constexpr double kMost = 2;  // a bus bandwidth may exceed a link's rate
  const auto low = reader.quantity(&usual->items[0], "usual", Dimension::ratio, 0, kMost);
  const auto high = reader.quantity(&usual->items[1], "usual", Dimension::ratio, 0, kMost);
  const auto least = reader.quantity(entry.find("least"), "least", Dimension::ratio, 0, kMost);
  if (entry.find("least") == nullptr) reader.refuse(entry, "least", "missing");
  if (!low || !high || !least) return;
  if (*low > *high) reader.refuse(*usual, "usual", "the first share is above the second");
  if (*least > *low) reader.refuse(*entry.find("least"), "least", "is above the usual range");
  one.usual_low = *low;
  one.usual_high = *high;
  one.least = *least;
}

FigureEntry figure_entry(const Value& entry, const std::vector<std::string>& known, Diagnostics& problems) {
  ValueReader reader(problems, "figures");
  reader.known_keys(
      entry, {"figure", "part", "link", "with", "at_least", "cache", "nodes", "most_rate", "usual", "least", "source"});
  FigureEntry one;
  const std::string figure = needed_text(reader, entry, "figure");
  const std::size_t dot = figure.find('.');
  one.workload = figure.substr(0, dot);
  if (dot != std::string::npos)
    one.metric = figure.substr(dot + 1);
  else if (entry.find("figure") != nullptr)
    reader.refuse(*entry.find("figure"), "figure", "a workload and its metric are expected, as in h2d.bandwidth");
  if (!one.metric.empty() && !known.empty() && std::find(known.begin(), known.end(), figure) == known.end())
    reader.refuse(*entry.find("figure"), "figure",
                  fmt::format("no workload reports '{}'{}", figure, did_you_mean(figure, known)));
  one.part = part_of(reader, entry);
  one.link = reader.text(entry.find("link"), "link");
  one.source = needed_text(reader, entry, "source");
  if (const Value* with = entry.find("with"))
    for (const Value::Entry& wanted : with->entries)
      one.with.emplace_back(wanted.key, words_of(reader, wanted.value, wanted.key));
  if (const Value* least = entry.find("at_least"))
    for (const Value::Entry& wanted : least->entries) {
      const bool counts = wanted.value.text.find_first_not_of("0123456789") == std::string::npos;
      if (const auto value =
              reader.quantity(&wanted.value, wanted.key, counts ? Dimension::count : Dimension::bytes, 0))
        one.at_least.emplace_back(wanted.key, *value);
    }
  if (const Value* cache = entry.find("cache")) one.cache = words_of(reader, *cache, "cache");
  one.nodes = static_cast<unsigned>(reader.whole(entry.find("nodes"), "nodes", Dimension::count, 1, 1e6).value_or(0));
  one.most_rate = reader.quantity(entry.find("most_rate"), "most_rate", Dimension::bytes_per_second, 1).value_or(0);
  usual_of(reader, entry, one);
  return one;
}

}  // namespace

const std::vector<std::string>& part_kinds() {
  static const std::vector<std::string> kinds{"gpu_link",  "gpu_memory",    "gpu_pair", "nvlink",
                                              "rdma_port", "ethernet_port", "disk",     "memory"};
  return kinds;
}

namespace {

Table read_table(const Value& root, const std::vector<std::string>& known, Diagnostics& problems) {
  Table table;
  ValueReader reader(problems, "");
  if (!root.is_map()) {
    reader.refuse(root, "schema", "a table of expectations is expected: schema, rates, figures");
    return table;
  }
  reader.known_keys(root, {"schema", "rates", "figures"});
  if (const Value* schema = root.find("schema"))
    reader.whole(schema, "schema", Dimension::count, 1, 1);
  else
    reader.refuse(root, "schema", "missing; must be 1");
  if (const Value* rates = root.find("rates"))
    for (const Value& entry : rates->items) table.rates.push_back(rate_entry(entry, problems));
  if (const Value* figures = root.find("figures"))
    for (const Value& entry : figures->items) table.figures.push_back(figure_entry(entry, known, problems));
  return table;
}

}  // namespace

Table parse_table(std::string_view text, const std::string& file_name, Diagnostics& problems) {
  const Value root = config::parse_yaml(text, file_name, problems);
  return problems.empty() ? read_table(root, {}, problems) : Table{};
}

std::string_view carried_table() { return kCarriedTable; }

Table load_table(const std::string& file, const std::vector<std::string>& known) {
  Diagnostics problems;
  Table table;
  if (!file.empty()) {
    const Value own = config::read_yaml(file, problems);
    problems.throw_if_any();
    table = read_table(own, known, problems);
    problems.throw_if_any();
  }
  const Table carried = parse_table(carried_table(), "expectations.yaml", problems);
  problems.throw_if_any();
  table.rates.insert(table.rates.end(), carried.rates.begin(), carried.rates.end());
  table.figures.insert(table.figures.end(), carried.figures.begin(), carried.figures.end());
  return table;
}

}  // namespace headrace::expectations
