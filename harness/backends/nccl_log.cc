#include "harness/backends/nccl_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <span>

namespace headrace {
namespace {

/// The rest of `line` behind `mark`; nothing when it is not there.
std::optional<std::string_view> behind(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + mark.size());
}
/// Up to the first of `ends`.
std::string_view until(std::string_view text, std::string_view ends) {
  return text.substr(0, text.find_first_of(ends));
}
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}
std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}
/// The number behind `mark`.
std::optional<unsigned> number_behind(std::string_view line, std::string_view mark) {
  const auto rest = behind(line, mark);
  return rest ? number(trimmed(*rest)) : std::nullopt;
}

/// NCCL before 2.24 reported these by number: NCCL_ALGO_* and NCCL_PROTO_* of its device.h.
constexpr std::array<std::string_view, 7> kAlgorithms{"Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                                      "NVLSTree", "PAT"};
constexpr std::array<std::string_view, 3> kProtocols{"LL", "LL128", "Simple"};

template <std::size_t N>
std::string named(std::string_view word, const std::array<std::string_view, N>& names) {
  if (const auto index = number(word); index && *index < N) return std::string(names[*index]);
  const auto same = [&](std::string_view name) {
    return std::equal(name.begin(), name.end(), word.begin(), word.end(),
                      [](char a, char b) { return (a | 0x20) == (b | 0x20); });
  };
  const auto at = std::find_if(names.begin(), names.end(), same);
  if (at != names.end()) return std::string(*at);
  return word == "NVLS_TREE" ? "NVLSTree" : std::string(word);
}

class Reader {
 public:
  void line(std::string_view line) {
    connection(line);
    choice(line);
    network(line);
    topology(line);
  }
  NcclLog log;

 private:
  void say(const char* thing, std::string_view value) {
    value = trimmed(value);
    if (!value.empty()) ++log.said[thing][std::string(value)];
  }

  /// "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(8)/GDRDMA/Shared": kinds alone, not which device.
  void connection(std::string_view line) {
    const bool sends = line.find(" -> ") != std::string_view::npos || line.find("[send]") != std::string_view::npos;
    const bool receives = line.find("[receive]") != std::string_view::npos;
    const auto via = behind(line, " via ");
    if (!via || (!sends && !receives)) return;
    const std::string_view path = until(*via, " \r");
    if (path.starts_with("NET/") && !path.starts_with("NET/Socket")) pair(line, path, receives);
    if (receives) return;
    std::string kind;
    if (path.starts_with("NET/")) {
      const std::string_view plugin = until(path.substr(4), "/");
      kind = "NET/" + std::string(plugin) + (path.find("/GDRDMA") != std::string_view::npos ? "/GDRDMA" : "");
    } else if (path.starts_with("P2P/")) {
      kind = std::string(until(path, "[ "));
      // "P2P/direct pointer/read": two words.
      if (kind == "P2P/direct") kind = "P2P/direct pointer";
      if (const std::size_t read = kind.find("/read"); read != std::string::npos) kind.resize(read);
    } else if (path.starts_with("SHM")) {
      kind = "SHM";
    } else {
      kind = std::string(until(path, "["));
    }
    say("connections", kind);
  }

  /// The line "nodea:26799:27030 [4] NCCL INFO Channel 00/0 : 4[4] -> 12[4] [send] via NET/IB/0(4)/GDRDMA" gives gpu4
  /// and device 0.
  void pair(std::string_view line, std::string_view path, bool receives) {
    const auto ranks = behind(line, " : ");
    const auto own = ranks ? behind(*ranks, receives ? " -> " : "") : std::nullopt;
    const auto gpu = own ? behind(*own, "[") : std::nullopt;
    const auto device = behind(path.substr(4), "/");
    if (!gpu || !device) return;
    const auto index = number(*device);
    const auto name = index ? devices_.find(*index) : devices_.end();
    const std::string words =
        fmt::format("gpu{} by {}", until(*gpu, "]"),
                    name != devices_.end() ? name->second : fmt::format("NIC {}", until(*device, "(/")));
    if (path.find("/GDRDMA") != std::string_view::npos) return say("gpu_direct_pairs", words);
    std::string_view host = line.substr(0, line.find(" NCCL INFO"));
    host = host.substr(0, host.rfind(" ["));
    for (unsigned i = 0; i < 2; ++i) host = host.substr(0, host.rfind(':'));
    say("pairs_by_host_memory", fmt::format("{} of {}", words, host.substr(host.find_last_of(":> ") + 1)));
  }

  /// "AllReduce: 4194304 Bytes -> Algo Ring proto LL128 channel{Lo..Hi}={0..7}"; before 2.24 "... Algo 1 proto 2 time 3.9".
  void choice(std::string_view line) {
    // "AllReduce [Symmetric]: 4194304 Bytes -> Kernel AllReduce_AGxLLMC_R nchannels 32 ..."
    if (const auto kernel = behind(line, " Bytes -> Kernel "))
      return say("algorithm", "symmetric " + std::string(until(*kernel, " \r")));
    const auto rest = behind(line, " Bytes -> Algo ");
    if (!rest) return;
    const auto protocol = behind(*rest, " proto ");
    if (!protocol) return;
    say("algorithm", named(until(*rest, " "), kAlgorithms));
    say("protocol", named(until(*protocol, " \r"), kProtocols));
    const auto channels = behind(*rest, "={");
    const auto last = channels ? number_behind(*channels, "..") : std::nullopt;
    const auto first = channels ? number(*channels) : std::nullopt;
    if (first && last && *last >= *first) say("channels", std::to_string(*last - *first + 1));
  }

  void network(std::string_view line) {
    if (const auto name = behind(line, "Using network ")) say("network", *name);
    // "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"
    for (const std::string_view net : {"NET/IB : Using", "NET/Socket : Using"}) {
      const auto devices = behind(line, net);
      if (!devices || devices->find('[') == std::string_view::npos) continue;
      std::string_view rest = until(*devices, ";");
      for (std::size_t at = rest.find('['); at != std::string_view::npos; at = rest.find('[')) {
        rest.remove_prefix(at + 1);
        const std::size_t close = rest.find(']');
        const auto index = number(rest);
        if (close == std::string_view::npos || !index) continue;  // [RO]: relaxed ordering
        rest.remove_prefix(close + 1);
        std::string_view device = until(rest, " ");
        devices_[*index] = until(device, "/");
        say(net.starts_with("NET/IB") ? "devices" : "interfaces", device);
      }
    }
    if (const auto direct = behind(line, "GPU Direct RDMA ")) {
      const auto device = behind(*direct, "'");
      const char* const word = until(*direct, " ") == "Enabled" ? "enabled" : "disabled";
      // "Disabled for GPU 0 / HCA 4 (distance 9 > 5)": of each pair, far ones too; which carry data their channels say.
      if (!device && direct->find(" / HCA ") != std::string_view::npos) return;
      say("gpu_direct", fmt::format("{} for {}", word, device ? until(*device, "'") : "all"));
    }
    // "NET/IB : Made virtual device [4] name=mlx5_0+mlx5_1 speed=400000 ndevs=2"
    if (const auto made = behind(line, "Made virtual device ["))
      if (const auto name = behind(*made, "name="); name && number(*made)) devices_[*number(*made)] = until(*name, " ");
  }

  std::map<unsigned, std::string> devices_;  // of this process, as its channels number them

  void topology(std::string_view line) {
    if (const auto nodes = number_behind(line, " nNodes ")) {
      const auto ranks = number_behind(line, " nRanks "), local = number_behind(line, " localRanks ");
      if (ranks && local) say("topology", fmt::format("{} ranks, {} nodes, {} on each", *ranks, *nodes, *local));
      if (const auto several = number_behind(line, " MNNVL ")) say("nvlink_over_nodes", *several != 0 ? "yes" : "no");
    }
    // "Pattern 4, crossNic 0, nChannels 12, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1": 4 is the ring.
    if (const auto ring = behind(line, "Pattern 4,")) {
      if (const auto type = behind(*ring, " type ")) say("paths", until(*type, ", \r"));
    }
    if (line.find("coll channels") != std::string_view::npos) {
      // "24 coll channels, 16 collnet channels, 0 nvls channels, 32 p2p channels, 2 p2p channels per peer"
      if (const auto info = behind(line, "INFO ")) say("channels_made", *info);
    }
    // "Channel 00/24 :    0   1   2   3": in which order the ring passes the ranks; those of the first channel.
    if (const auto order = behind(line, "Channel 00/")) {
      const auto ranks = behind(*order, " : ");
      if (ranks && ranks->find("->") == std::string_view::npos) {
        std::string words;
        for (std::string_view rest = trimmed(*ranks); !rest.empty();
             rest = trimmed(rest.substr(until(rest, " ").size())))
          words += (words.empty() ? "" : " ") + std::string(until(rest, " "));
        say("ring", words);
      }
    }
    if (line.find("NVLS multicast support is ") != std::string_view::npos)
      say("nvls", line.find("is not available") == std::string_view::npos ? "available" : "not available");
  }
};

/// The first of them.
std::string list(const std::map<std::string, unsigned>& values, bool counts) {
  constexpr std::size_t kMost = 64;
  std::vector<std::pair<unsigned, std::string>> sorted;
  for (const auto& [value, count] : values) sorted.emplace_back(count, value);
  if (counts)
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [count, value] : std::span(sorted).first(std::min(kMost, sorted.size())))
    text += (text.empty() ? "" : ", ") + value + (counts ? fmt::format(" x{}", count) : "");
  if (sorted.size() > kMost) text += fmt::format(" and {} more", sorted.size() - kMost);
  return text;
}

const std::map<std::string, unsigned>* find(const NcclLog& log, const char* thing) {
  const auto at = log.said.find(thing);
  return at == log.said.end() ? nullptr : &at->second;
}
bool any(const std::map<std::string, unsigned>* values, std::string_view part) {
  return values && std::any_of(values->begin(), values->end(),
                               [&](const auto& v) { return v.first.find(part) != std::string::npos; });
}

/// Connections in the words of links: NVLink and PCIe are both P2P to NCCL, distinguished by the ring's path.
std::string transport(const NcclLog& log) {
  const auto* connections = find(log, "connections");
  if (!connections) return "";
  const auto* paths = find(log, "paths");
  const auto* devices = find(log, "devices");
  std::set<std::string> words;
  for (const auto& [kind, count] : *connections) {
    if (kind.starts_with("P2P/indirect"))
      words.insert("P2P by another GPU");
    else if (kind.starts_with("P2P"))
      words.insert(!paths ? "P2P" : any(paths, "NVL/") ? "NVLink" : any(paths, "C2C/") ? "C2C" : "PCIe P2P");
    else if (kind == "SHM")
      words.insert("shared memory");
    else if (kind.starts_with("NET/Socket"))
      words.insert("TCP");
    else if (kind.starts_with("NET/IB"))
      words.insert(std::string(any(devices, "/RoCE") == any(devices, "/IB") ? "InfiniBand or RoCE"
                               : any(devices, "/IB")                        ? "InfiniBand"
                                                                            : "RoCE") +
                   (kind.ends_with("GDRDMA") ? " with GPUDirect" : ""));
    else
      words.insert(kind);
  }
  if (any(find(log, "algorithm"), "NVLS")) words.insert("NVLink SHARP");
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

NcclLog read_nccl_log(std::string_view text) {
  Reader reader;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    reader.line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return std::move(reader.log);
}

NcclLog merged(const NcclLog& a, const NcclLog& b) {
  NcclLog both = a;
  for (const auto& [thing, values] : b.said)
    for (const auto& [value, count] : values) both.said[thing][value] += count;
  return both;
}

std::string to_words(const NcclLog& log) {
  std::string words;
  for (const auto& [thing, values] : log.said)
    for (const auto& [value, count] : values) words += fmt::format("{}\t{}\t{}\n", thing, count, value);
  return words;
}

NcclLog from_words(std::string_view words) {
  NcclLog log;
  while (!words.empty()) {
    const std::string_view line = until(words, "\n");
    words.remove_prefix(std::min(words.size(), line.size() + 1));
    const std::string_view thing = until(line, "\t"), rest = line.substr(std::min(line.size(), thing.size() + 1));
    const std::string_view count = until(rest, "\t");
    if (const auto times = number(count); times && rest.size() > count.size())
      log.said[std::string(thing)][std::string(rest.substr(count.size() + 1))] += *times;
  }
  return log;
}

std::vector<std::pair<std::string, std::string>> facts_of(const NcclLog& log) {
  std::vector<std::pair<std::string, std::string>> facts;
  if (std::string text = transport(log); !text.empty()) facts.emplace_back("transport", std::move(text));
  for (const char* thing : {"algorithm", "protocol", "channels", "connections", "network", "devices", "interfaces",
                            "gpu_direct", "gpu_direct_pairs", "pairs_by_host_memory", "topology", "nvlink_over_nodes",
                            "paths", "channels_made", "ring", "nvls"}) {
    if (const auto* values = find(log, thing))
      facts.emplace_back(thing, list(*values, thing == std::string_view("connections")));
  }
  return facts;
}

std::string in_short(const NcclLog& log) {
  std::string text = transport(log);
  if (const auto* algorithm = find(log, "algorithm")) {
    text += (text.empty() ? "" : "; ") + list(*algorithm, false);
    if (const auto* protocol = find(log, "protocol")) text += " " + list(*protocol, false);
  }
  return text;
}

}  // namespace headrace
