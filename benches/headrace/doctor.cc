// headrace doctor: what this machine is, what can run on it, what cannot and why, and what to do
// about it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "benches/headrace/console.h"
#include "benches/headrace/terminal.h"
#include "harness/backends/loader.h"
#include "harness/base/version.h"
#include "harness/machine/examine.h"
#include "harness/machine/examine_gpus.h"
#include "harness/machine/examine_network.h"
#include "harness/machine/examine_rdma.h"
#include "harness/machine/fingerprint.h"
#include "harness/registry.h"
#include "harness/workload.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

using system::Finding;
using Level = Finding::Level;

struct Look {
  const char* word;
  const char* symbol;
  const char* ascii;
  Ink ink;
};

const Look& look_of(Level level) {
  static constexpr std::array<Look, 4> kLooks{{{"good", "✔", "+", Ink::good},
                                               {"note", "·", ".", Ink::plain},
                                               {"warning", "!", "!", Ink::doubt},
                                               {"missing", "–", "-", Ink::faint}}};
  return kLooks[static_cast<std::size_t>(level)];
}

/// Every workload with its defaults: can it run here?
std::vector<Finding> workloads(Node& node) {
  std::vector<Finding> all;
  for (const WorkloadInfo& info : Registry::instance().all()) {
    config::Value defaults;
    defaults.kind = config::Value::Kind::map;
    Diagnostics problems;
    Params params(std::string(info.name), defaults, problems);
    const auto workload = info.make(params);
    const auto skip = workload->check(node);
    all.push_back({skip ? Level::missing : Level::good, "workloads", std::string(info.name),
                   skip ? skip->reason : std::string(info.description), ""});
  }
  return all;
}

constexpr std::size_t kSubjectWidth = 18;
constexpr std::size_t kIndent = 4 + kSubjectWidth + 1;

void print_text(const std::string& path, const std::vector<Finding>& findings, const Terminal& terminal) {
  const auto width = static_cast<std::size_t>(std::max(terminal.width(), 60));
  print_line(terminal.paint("headrace doctor, data at " + Text(path), Ink::strong));
  std::string section;
  for (const Finding& finding : findings) {
    if (finding.section != section) print_line("\n" + terminal.paint(finding.section, Ink::strong));
    section = finding.section;
    const Look& look = look_of(finding.level);
    print_line(Text::format("  {} {} {}", terminal.paint(terminal.ascii() ? look.ascii : look.symbol, look.ink),
                            pad(finding.subject, kSubjectWidth), wrap(finding.text, width - kIndent, kIndent)));
    if (!finding.advice.empty())
      print_line(pad("", kIndent) +
                 terminal.paint(wrap((terminal.ascii() ? "-> " : "→ ") + finding.advice, width - kIndent, kIndent),
                                Ink::faint));
  }
  const auto count = [&](Level level) {
    return std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.level == level; });
  };
  const auto warnings = count(Level::warning), missing = count(Level::missing);
  print_line(Text::format("\n{} good, {} to know, {} warning{}, {} not available here", count(Level::good),
                          count(Level::note), warnings, warnings == 1 ? "" : "s", missing));
}

void print_json(const std::string& path, const std::vector<Finding>& findings, Node& node) {
  using nlohmann::ordered_json;
  ordered_json listed = ordered_json::array(), machine = ordered_json::object();
  for (const Finding& finding : findings)
    listed.push_back({{"section", finding.section},
                      {"subject", finding.subject},
                      {"level", look_of(finding.level).word},
                      {"text", finding.text},
                      {"advice", finding.advice}});
  for (const auto& [name, facts] : system::fingerprint(path, node)) {
    ordered_json section = ordered_json::object();
    for (const auto& [key, text] : facts) section[key] = text;
    machine[name] = std::move(section);
  }
  const ordered_json all{{"schema", 1},
                         {"headrace", {{"version", kVersion}, {"revision", kRevision}}},
                         {"path", path},
                         {"findings", std::move(listed)},
                         {"environment", std::move(machine)}};
  // The kernel may hand out file names and models that are no UTF-8.
  print_document(all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

/// What is said of a place that is not there would be of nothing.
void check_place(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    throw UsageError(fmt::format("doctor: {}: {}", path, error ? error.message() : "No such file or directory"));
  if (!fs::is_directory(status) && !fs::is_block_file(status))
    throw UsageError(fmt::format("doctor: {}: neither a folder nor a block device", path));
}

int doctor(const std::string& path, bool json, const Shared& shared) {
  check_place(path);
  Node node(path);
  std::vector<Finding> findings = system::examine(path, node);
  const auto append = [&findings](const std::vector<Finding>& more) {
    findings.insert(findings.end(), more.begin(), more.end());
  };
  const std::vector<system::NetworkLink> links = system::network_links();
  append(system::examine_network(links, system::nccl_settings()));
  if (node.backends().why_not(Gives::rdma).empty())
    append(system::examine_rdma(node.backends().rdma(), system::limit_of(RLIMIT_MEMLOCK), node.is_root()));
  if (node.backends().why_not(Gives::gpus).empty()) append(system::examine_gpus(node.backends().gpu(), links));
  append(workloads(node));
  if (json)
    print_json(path, findings, node);
  else
    print_text(path, findings, Terminal(stdout, shared));
  return 0;
}

void add_doctor(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("doctor", "What this machine is, what can run on it, and why the rest cannot");
  auto path = std::make_shared<std::string>(".");
  auto json = std::make_shared<bool>(false);
  verb.option("DIR", *path, "Where the data of a run would be (default: the current folder)");
  verb.flag("--json", *json, "Print JSON");
  verb.example("headrace doctor /tmp", "Can data below /tmp be measured, and with which engines?");
  verb.does([&shared, path, json] { return doctor(*path, *json, shared); });
}

const RegisterVerb registered{20, add_doctor};

}  // namespace
}  // namespace headrace::cli
