#include "harness/analysis/simulate/sheet.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/config/document.h"
#include "harness/base/config/value_reader.h"

namespace headrace::simulate {
namespace {

using config::Value;
using job::Range;

constexpr Range kRate{.min = 0, .max = 1e18, .min_excluded = true};
constexpr Range kAny{.min = 0, .max = 1e15};
constexpr Range kWhole{.min = 1, .max = 1e15, .integer = true};
constexpr Range kShare{.min = 0, .max = 0.5};

constexpr Dimension kBytesPerS = Dimension::bytes_per_second, kPerS = Dimension::per_second, kS = Dimension::seconds,
                    kCount = Dimension::count, kRatio = Dimension::ratio;

const SheetKey kKeys[] = {
    {"store.read", kBytesPerS, kRate, 0, true, false, "most that one server gives to all reading clients"},
    {"store.write", kBytesPerS, kRate, 0, true, false, "most that one server takes from all writing clients"},
    {"store.opens", kPerS, kRate, 0, true, false, "most metadata operations of one server, for all clients"},
    {"store.servers", kCount, kWhole, 1, true, false, "servers with those rates"},
    {"store.imbalance",
     kRatio,
     {.min = 1, .max = 1e3},
     1,
     false,
     true,
     "how many times the mean of all servers the busiest one does"},
    {"store.most_clients", kCount, kWhole, 0, true, false, "clients served at once; others are refused and retry"},
    {"store.retry_after", kS, kRate, 1, false, true, "first pause of a refused client; it doubles each time"},
    {"store.retry_most", kS, kRate, 60, false, true, "longest pause of a refused client"},
    {"client.read", kBytesPerS, kRate, 0, true, false, "most that one node reads"},
    {"client.write", kBytesPerS, kRate, 0, true, false, "most that one node writes"},
    {"client.opens", kPerS, kRate, 0, true, false, "most metadata operations of one node"},
    {"client.nic", kBytesPerS, kRate, 0, true, false, "rate of a node's links to the store, together"},
    {"client.slots", kCount, kWhole, 0, true, false, "requests that one connection of a node has in flight at most"},
    {"client.connections", kCount, kWhole, 1, true, false, "connections of a node to the store (nconnect)"},
    {"client.request", Dimension::bytes, kRate, 1 << 20, true, false, "bytes of a request, for client.slots"},
    {"client.latency", kS, kRate, 0, false, true, "time of one request, for client.slots"},
    {"client.variation", kRatio, kShare, 0, false, true, "relative standard deviation of rates between nodes"},
    {"client.slow_share", kRatio, kShare, 0, false, true, "share of nodes that are slow"},
    {"client.slow_rate",
     kRatio,
     {.min = 0, .max = 1, .min_excluded = true},
     1,
     true,
     false,
     "rate of a slow node, as a share of the others'"},
    {"client.save_spread", kS, kAny, 0, false, false, "ranks begin a save within this time"},
    {"client.restart_spread", kS, kAny, 0, false, false, "nodes begin a restore within this time"},
    {"client.staging", kBytesPerS, kRate, 0, true, false, "rate at which a node copies its part of a save aside"},
    {"network.nodes_per_switch", kCount, kWhole, 0, false, false, "nodes of one leaf switch"},
    {"network.oversubscription",
     kRatio,
     {.min = 1, .max = 1e3},
     1,
     false,
     true,
     "rate of a leaf's nodes divided by that of its uplinks"},
};

const SheetKey& key_of(std::string_view path) { return *std::ranges::find(kKeys, path, &SheetKey::path); }

class SheetReader {
 public:
  SheetReader(const Value& root, Diagnostics& problems) : problems_(problems) { read(root); }
  Sheet take() { return std::move(sheet_); }

 private:
  void read(const Value& root) {
    std::vector<std::string> sections{"schema", "sheet", "source", "prices"};
    for (const SheetKey& key : kKeys)
      if (const std::string name = section(key); std::ranges::find(sections, name) == sections.end())
        sections.push_back(name);
    if (!root.is_map())
      return problems_.error(root.where, "a sheet is a map of keys such as sheet, source, store, client");
    config::ValueReader top(problems_, "");
    top.known_keys(root, sections);
    const auto schema = top.whole(root.find("schema"), "schema", Dimension::count, 1, 1);
    if (!schema && root.find("schema") == nullptr) problems_.error(root.where, "schema: missing: must be 1");
    sheet_.name = named(root, "sheet", "the name of the store");
    sheet_.source = named(root, "source", "where its figures come from");
    for (const SheetKey& key : kKeys)
      if (const Value* part = root.find(section(key)); part != nullptr) read_key(*part, key);
    for (const std::string& name : sections)
      if (const Value* part = root.find(name); part != nullptr && is_section(name)) check(*part, name);
    if (const Value* prices = root.find("prices"); prices != nullptr) read_prices(*prices);
  }

  static std::string section(const SheetKey& key) { return std::string(key.path.substr(0, key.path.find('.'))); }
  static std::string name(const SheetKey& key) { return std::string(key.path.substr(key.path.find('.') + 1)); }
  static bool is_section(const std::string& word) {
    return std::ranges::any_of(kKeys, [&](const SheetKey& key) { return section(key) == word; });
  }

  std::string named(const Value& root, const char* key, const char* help) {
    const Value* value = root.find(key);
    if (value == nullptr || !value->is_scalar() || value->text.empty()) {
      problems_.error(value == nullptr ? root.where : value->where, fmt::format("{}: missing: {} (text)", key, help));
      return "";
    }
    return value->text;
  }

  void check(const Value& part, const std::string& named) {
    std::vector<std::string> names;
    for (const SheetKey& key : kKeys)
      if (section(key) == named) names.push_back(name(key));
    if (!part.is_map())
      return problems_.error(part.where, fmt::format("{}: must be a map of keys ({})", named, join(names)));
    config::ValueReader(problems_, named).known_keys(part, names);
  }

  void read_key(const Value& part, const SheetKey& key) {
    const Value* value = part.find(name(key));
    if (value == nullptr) return;
    const auto refuse = [&](const std::string& why) {
      problems_.error(value->where, fmt::format("{}: {}", key.path, why));
    };
    if (!value->is_scalar()) return refuse(fmt::format("must be one value: {}", key.range.text(key.dimension)));
    const Parsed parsed = parse_quantity(value->text, key.dimension);
    if (!parsed)
      return refuse(fmt::format("{}{}", parsed.error.starts_with('\'') ? "" : "'" + value->text + "' ", parsed.error));
    if (!key.range.allows(parsed.value))
      return refuse(fmt::format("{} is out of range: must be {}", value->text, key.range.text(key.dimension)));
    sheet_.values[std::string(key.path)] = parsed.value;
    sheet_.places[std::string(key.path)] = value->where;
  }

  void read_prices(const Value& prices) {
    std::vector<std::string> names;
    for (const SheetKey& key : kKeys)
      if (key.more_helps || key.less_helps) names.emplace_back(key.path);
    config::ValueReader reader(problems_, "prices");
    if (!prices.is_map())
      return problems_.error(prices.where, "prices: must be a map of keys, as in store.read: 12000");
    reader.known_keys(prices, names);
    for (const std::string& name : names)
      if (const auto price = reader.quantity(prices.find(name), name, Dimension::usd, 1e-6))
        sheet_.prices[name] = *price;
  }

  Diagnostics& problems_;
  Sheet sheet_;
};

/// Values that cannot be at once.
void check_together(const Sheet& sheet, Diagnostics& problems) {
  const auto both = [&](const char* one, const char* other, const char* why) {
    if (sheet.has(one) && !sheet.has(other))
      problems.error(sheet.place(one), fmt::format("{}: {}: give {}, too", one, why, other));
  };
  both("client.slots", "client.latency", "says nothing without the time of a request");
  both("client.slow_share", "client.slow_rate", "says nothing without the rate of a slow node");
  both("network.oversubscription", "network.nodes_per_switch", "says nothing without the nodes of a switch");
  both("network.nodes_per_switch", "client.nic", "an uplink has the rate of its nodes' links");
  if (sheet.at("store.retry_after") > sheet.at("store.retry_most"))
    problems.error(sheet.place("store.retry_after"), "store.retry_after: must not be longer than store.retry_most");
  for (const auto& [client, store] : {std::pair{"client.read", "store.read"}, std::pair{"client.write", "store.write"}})
    if (sheet.has(client) && sheet.has(store) && sheet.at(client) > sheet.at(store) * sheet.at("store.servers"))
      problems.error(sheet.place(client),
                     fmt::format("{}: one client gets no more than all together: at most {} ({})", client,
                                 compact_quantity(sheet.at(store) * sheet.at("store.servers"), kBytesPerS), store));
}

}  // namespace

std::span<const SheetKey> sheet_keys() { return kKeys; }

double Sheet::at(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? key_of(key).fallback : found->second;
}

Location Sheet::place(std::string_view key) const {
  const auto found = places.find(key);
  return found == places.end() ? Location{} : found->second;
}

Sheet load_sheet(const std::string& path) {
  Diagnostics problems;
  const Value root = config::read_yaml(path, problems);
  Sheet sheet;
  if (problems.empty()) sheet = SheetReader(root, problems).take();
  if (problems.empty()) check_together(sheet, problems);
  problems.throw_if_any();
  return sheet;
}

void System::add_sheet(Sheet stated) {
  sheet = std::move(stated);
  const auto state = [&](Supply& supply, const char* what, const char* store, const char* client, const char* unit) {
    const double share = sheet.at("store.servers") / sheet.at("store.imbalance");
    if (sheet.has(store)) supply.most = sheet.at(store) * share;
    if (sheet.has(client)) supply.client = sheet.at(client);
    if (supply.measured.empty() && supply.client <= 0 && supply.most > 0)
      supply.client = sheet.has("client.nic") ? sheet.at("client.nic") : supply.most;
    if (supply.most <= 0 && supply.client <= 0) return;
    std::string values;
    if (supply.most > 0) values += fmt::format("{} in all", format_in_unit(supply.most, unit));
    if (sheet.has(client))
      values += fmt::format("{}{} a client", values.empty() ? "" : ", ", format_in_unit(supply.client, unit));
    if (!values.empty())
      from.push_back(fmt::format("{}: at most {} (sheet {}: {})", what, values, sheet.name, sheet.source));
  };
  state(read, "reading", "store.read", "client.read", "B/s");
  state(restore, "restoring", "store.read", "client.read", "B/s");
  state(save, "saving", "store.write", "client.write", "B/s");
  state(opens, "metadata operations", "store.opens", "client.opens", "1/s");
}

}  // namespace headrace::simulate
