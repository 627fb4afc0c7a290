#include "harness/machine/network/rdma_rails.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/glob.h"
#include "harness/machine/network/nccl_settings.h"

namespace headrace {
namespace {

struct Entry {
  std::string device;
  unsigned port = 0;  // 0 = any
  bool takes(const RdmaPort& p) const { return glob_match(device, p.device) && (port == 0 || port == p.number); }
};

/// The entries of a list, without its leading `^`.
std::vector<Entry> entries_of(std::string_view list) {
  std::vector<Entry> entries;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view word = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!word.empty() && (word.front() == ' ' || word.front() == '=')) word.remove_prefix(1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    const std::size_t number = word.find_first_of(":/");
    Entry entry{std::string(word.substr(0, number)), 0};
    if (number != word.npos)
      entry.port = static_cast<unsigned>(std::strtoul(std::string(word.substr(number + 1)).c_str(), nullptr, 10));
    if (!entry.device.empty()) entries.push_back(std::move(entry));
  }
  return entries;
}

/// As slots are counted; devices in no slot by their names, numbers as numbers.
auto place_of(const RdmaPort& p) {
  const std::size_t digits = p.device.find_last_not_of("0123456789") + 1;
  return std::tuple(p.pci_address.empty(), p.pci_address, p.device.substr(0, digits),
                    std::strtoul(p.device.c_str() + digits, nullptr, 10), p.number);
}

/// Its ports are functions of one device: 0000:29:00.0 and 0000:29:00.1.
std::string card_of(const RdmaPort& p) { return p.pci_address.substr(0, p.pci_address.rfind('.')); }

using Line = std::pair<bool, double>;  // Ethernet, rate

/// That most of the active ports have; of as many the faster, of as fast InfiniBand.
Line usual_line(const std::vector<const RdmaPort*>& ports) {
  std::map<Line, unsigned> counts;
  for (const RdmaPort* p : ports)
    if (p->active) ++counts[{p->ethernet, p->rate}];
  const auto worth = [](const auto& c) { return std::tuple(c.second, c.first.second, !c.first.first); };
  return std::max_element(counts.begin(), counts.end(),
                          [&](const auto& a, const auto& b) { return worth(a) < worth(b); })
      ->first;
}

std::vector<const RdmaPort*> named(const std::vector<const RdmaPort*>& all, const std::vector<Entry>& entries,
                                   std::span<const RdmaPort> ports) {
  std::vector<const RdmaPort*> found;
  std::vector<std::string> devices;
  for (const RdmaPort& p : ports)
    if (std::find(devices.begin(), devices.end(), p.device) == devices.end()) devices.push_back(p.device);
  for (const Entry& entry : entries) {
    if (std::none_of(devices.begin(), devices.end(), [&](const auto& d) { return glob_match(entry.device, d); }))
      throw RunError(fmt::format("there is no RDMA device '{}'{} (devices: {})", entry.device,
                                 did_you_mean(entry.device, devices), join(devices)));
    for (const RdmaPort* p : all)
      if (entry.takes(*p) && std::find(found.begin(), found.end(), p) == found.end()) found.push_back(p);
  }
  return found;
}

std::string ports_in_words(std::span<const RdmaPort> ports) {
  std::vector<std::string> words;
  for (const RdmaPort& p : ports) words.push_back(fmt::format("{} is {}", p.name(), p.state));
  return join(words);
}

}  // namespace

std::string line_of(const RdmaPort& port) {
  return fmt::format("{}{}", port.ethernet ? "RoCE" : "InfiniBand",
                     port.rate > 0 ? fmt::format(", {:g} Gbit/s", port.rate * 8e-9) : "");
}

RdmaRails rdma_rails(std::span<const RdmaPort> ports, const std::string& devices, unsigned number) {
  if (ports.empty()) throw Unsupported("no RDMA device");
  std::vector<const RdmaPort*> all;
  for (const RdmaPort& p : ports) all.push_back(&p);
  std::sort(all.begin(), all.end(), [](const RdmaPort* a, const RdmaPort* b) { return place_of(*a) < place_of(*b); });
  const bool but_for = devices.starts_with('^');
  const std::vector<Entry> entries = entries_of(std::string_view(devices).substr(but_for ? 1 : 0));
  std::vector<const RdmaPort*> wanted = entries.empty() || but_for ? all : named(all, entries, ports);
  RdmaRails rails;
  bool as_nccl = false;  // which uses all that its list names
  if (const auto hca = devices.empty() ? nccl_setting("NCCL_IB_HCA") : std::nullopt) {
    const NcclList list(hca->value);
    as_nccl = !list.all_but;
    std::erase_if(wanted, [&](const RdmaPort* p) { return !list.selects(p->device, static_cast<int>(p->number)); });
    if (wanted.empty())
      throw RunError(fmt::format("{} selects no RDMA port: {}", hca->in_words(), ports_in_words(ports)));
    rails.chosen = "ports as " + hca->in_words() + " selects them";
  }
  std::erase_if(wanted, [&](const RdmaPort* p) {
    return (number != 0 && p->number != number) ||
           (but_for && std::any_of(entries.begin(), entries.end(), [&](const Entry& e) { return e.takes(*p); }));
  });
  if (wanted.empty())
    throw RunError(fmt::format("there is no RDMA port {}: {}",
                               number != 0 ? std::to_string(number) : "by device: " + devices, ports_in_words(ports)));
  std::string unusable;
  std::erase_if(wanted, [&](const RdmaPort* p) {
    if (!p->unusable.empty()) unusable += fmt::format("{}{}: {}", unusable.empty() ? "" : "; ", p->name(), p->unusable);
    return !p->unusable.empty();
  });
  if (wanted.empty()) throw Unsupported(unusable);
  const bool any_active = std::any_of(wanted.begin(), wanted.end(), [](const RdmaPort* p) { return p->active; });
  if ((entries.empty() || but_for) && !as_nccl && any_active) {
    const Line usual = usual_line(wanted);
    std::vector<std::string> others, cards;
    std::erase_if(wanted, [&](const RdmaPort* p) {
      const bool other = p->ethernet != usual.first || (p->active && p->rate != usual.second);
      if (!other || !p->active) return other;
      others.push_back(fmt::format("{} ({})", p->name(), line_of(*p)));
      if (!p->pci_address.empty()) cards.push_back(card_of(*p));
      return true;
    });
    // The second port of a storage card has no cable, and would have none if it were a rail's.
    std::erase_if(wanted, [&](const RdmaPort* p) {
      return !p->active && std::find(cards.begin(), cards.end(), card_of(*p)) != cards.end();
    });
    if (!others.empty())
      rails.left_out = fmt::format(
          "not used: {}, since most ports here are {}: `device` names others", join(others),
          line_of(**std::find_if(wanted.begin(), wanted.end(), [](const RdmaPort* p) { return p->active; })));
  }
  rails.ports = std::move(wanted);
  return rails;
}

}  // namespace headrace
