// headrace doctor: describes this machine, the measurements that it can and cannot run with the reason, and the next
// steps.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "benches/headrace/answer.h"
#include "benches/headrace/console.h"
#include "benches/headrace/expect.h"
#include "benches/headrace/terminal.h"
#include "benches/headrace/version.h"
#include "harness/backends/loader.h"
#include "harness/base/escape.h"
#include "harness/base/files/output.h"
#include "harness/base/version.h"
#include "harness/judge/expectations/parts.h"
#include "harness/machine/examine/bundle.h"
#include "harness/machine/examine/examine.h"
#include "harness/machine/examine/examine_file_system.h"
#include "harness/machine/examine/examine_gpus.h"
#include "harness/machine/examine/examine_network.h"
#include "harness/machine/examine/examine_rdma.h"
#include "harness/machine/examine/fingerprint.h"
#include "harness/machine/kernel_log.h"
#include "harness/machine/limits.h"
#include "harness/machine/lost_gpus.h"
#include "harness/results/expected_json.h"
#include "harness/results/json_text.h"
#include "harness/results/run_file.h"
#include "harness/workload/registry.h"
#include "harness/workload/workload.h"

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

constexpr const char* kWorkloadSection = "workloads";  // their section

/// Every workload with its defaults: can it run here?
std::vector<Finding> workloads(Node& node) {
  std::vector<Finding> all;
  const bool writable = system::may_write_below(node.scratch_path());
  for (const WorkloadInfo& info : Registry::instance().all()) {
    config::Value defaults;
    defaults.kind = config::Value::Kind::map;
    Diagnostics problems;
    Params params(std::string(info.name), defaults, problems);
    const auto workload = info.make(params);
    auto skip = workload->check(node);
    const Footprint made = workload->footprint();
    if (!skip && !writable && made.written_bytes + made.written_files > 0)
      skip = Skip{"makes its data in the folder, which cannot be written"};
    all.push_back({skip ? Level::missing : Level::good, kWorkloadSection, std::string(info.name),
                   skip ? skip->reason : std::string(info.description), ""});
  }
  return all;
}

constexpr std::size_t kSubjectWidth = 18;
constexpr std::size_t kIndent = 4 + kSubjectWidth + 1;

Answer doctor_answer(const std::string& path, const std::vector<Finding>& findings) {
  std::size_t runnable = 0, all = 0, warnings = 0;
  const Finding* first = nullptr;
  for (const Finding& f : findings) {
    all += f.section == kWorkloadSection;
    runnable += f.section == kWorkloadSection && f.level == Level::good;
    warnings += f.level == Level::warning;
    if (first == nullptr && f.level == Level::warning) first = &f;
  }
  Answer answer{.sentence = Text::format("{} of {} workloads can run here with data at {}; {} warning{}.", runnable,
                                         all, path, warnings, warnings == 1 ? "" : "s")};
  if (first == nullptr) return answer;
  answer.cause = Text::format("{}: {}", first->subject, first->text);
  answer.next = first->advice;
  return answer;
}

/// Workloads that one reason keeps from running are one entry.
std::vector<Finding> together(const std::vector<Finding>& findings) {
  std::vector<Finding> all;
  std::map<std::string, std::size_t> reasons;
  for (const Finding& f : findings) {
    const bool missing = f.section == kWorkloadSection && f.level == Level::missing;
    if (const auto known = reasons.find(f.text); missing && known != reasons.end()) {
      all[known->second].subject += ", " + f.subject;
      continue;
    }
    if (missing) reasons[f.text] = all.size();
    all.push_back(f);
  }
  for (Finding& f : all)
    if (const auto several = std::ranges::count(f.subject, ','); f.section == kWorkloadSection && several > 0) {
      f.text += ": " + f.subject;
      f.subject = fmt::format("{} workloads", several + 1);
    }
  return all;
}

void print_text(const std::string& path, const std::vector<Finding>& findings, const Terminal& terminal) {
  const auto width = static_cast<std::size_t>(std::max(terminal.width(), 60));
  print(answer_text(doctor_answer(path, findings), terminal));
  std::string section;
  for (const Finding& finding : together(findings)) {
    if (finding.section != section && !section.empty()) print_line("");
    if (finding.section != section) print_line(terminal.paint(finding.section, Ink::strong));
    section = finding.section;
    const Look& look = look_of(finding.level);
    print_line(Text::format("  {} {} {}", terminal.paint(terminal.ascii() ? look.ascii : look.symbol, look.ink),
                            pad(finding.subject, kSubjectWidth), wrap(finding.text, width - kIndent, kIndent)));
    if (!finding.advice.empty())
      print_line(pad("", kIndent) +
                 terminal.paint(wrap((terminal.ascii() ? "-> " : "→ ") + finding.advice, width - kIndent, kIndent),
                                Ink::faint));
  }
}

nlohmann::ordered_json document(const std::string& path, const std::vector<Finding>& findings,
                                const Fingerprint& fingerprint) {
  using nlohmann::ordered_json;
  ordered_json listed = ordered_json::array(), machine = ordered_json::object();
  for (const Finding& finding : findings)
    listed.push_back({{"section", finding.section},
                      {"subject", finding.subject},
                      {"level", look_of(finding.level).word},
                      {"text", finding.text},
                      {"advice", finding.advice}});
  for (const auto& [name, facts] : fingerprint) {
    ordered_json section = ordered_json::object();
    for (const auto& [key, text] : facts) section[key] = text;
    machine[name] = std::move(section);
  }
  return {{"schema", 1},
          {"headrace", {{"version", kVersion}, {"revision", kRevision}}},
          {"path", path},
          {"findings", std::move(listed)},
          {"environment", std::move(machine)}};
}

/// The kernel may hand out file names and models that are no UTF-8.
std::string json_text(const nlohmann::ordered_json& all) {
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// Without places and owners of data in the file system: mount options may hold a password.
Fingerprint without_places(Fingerprint all) {
  static constexpr std::array<std::string_view, 4> kReported{"type", "size", "free", "block_size"};
  for (auto& [name, facts] : all) {
    if (name == "host") std::erase_if(facts, [](const auto& fact) { return fact.first == "name"; });
    if (name == "cgroup") std::erase_if(facts, [](const auto& fact) { return fact.first == "group"; });
    if (name == "file_system")
      std::erase_if(facts, [](const auto& fact) {
        return std::find(kReported.begin(), kReported.end(), fact.first) == kReported.end();
      });
  }
  return all;
}

/// What a finished run measured, without its command, its places, its job and the labels that the user chose.
nlohmann::ordered_json figures_of(const std::string& path) {
  using nlohmann::ordered_json;
  ordered_json points = ordered_json::array();
  const results::StoredRun run = results::read_run_file(path);
  for (const results::StoredPoint& p : run.points) {
    ordered_json metrics = ordered_json::object();
    for (const results::StoredMetric& m : p.metrics) metrics[m.name] = {m.median, m.low, m.high};
    const bool known = Registry::instance().find(p.workload) != nullptr;
    points.push_back({{"number", points.size() + 1},
                      {"workload", known ? p.workload : "unknown"},
                      {"cache", p.cache},
                      {"status", p.status},
                      {"reason", p.reason},
                      {"repetitions", p.repetitions},
                      {"disturbed_share", p.disturbed_share},
                      {"notes", p.notes},
                      {"metrics", std::move(metrics)}});
  }
  return {{"version", run.version}, {"revision", run.revision}, {"points", std::move(points)}};
}

constexpr const char* kBundle = "headrace-bundle";
constexpr std::string_view kBundleSign{"headrace-bundle.tar\0", 20};  // in its gzip header

/// Packs the machine's description into one archive, to be sent. Prints its content.
int bundle(const std::string& file, const std::string& path, const std::string& run,
           const std::vector<Finding>& findings, Node& node) {
  std::vector<Finding> reported = findings;
  std::erase_if(reported, [](const Finding& f) {
    return (f.section == "storage" && (f.subject == "folder" || f.subject == "file system")) || f.subject == "NCCL";
  });
  const auto parts = expectations::parts_of(node, path, expectations::load_table());
  std::vector<system::BundleFile> files{
      {"doctor.json", json_text(document("", reported, without_places(system::fingerprint(path, node))))},
      {"parts.json", results::json_text(results::parts_part(parts))},
      {"version.txt", version_text().str() + "\n"}};
  if (!run.empty()) files.push_back({"figures.json", json_text(figures_of(run))});
  for (system::BundleFile& one : files) one.text = system::scrubbed(one.text);
  files.push_back({"environment.txt", system::reported_environment()});
  for (system::BundleFile& one : system::kernel_bundle()) files.push_back(std::move(one));
  files::write_output(file, system::archive(files, kBundle), files::Readers::owner);
  print_line(Text::format("bundle  {}", file));
  for (const system::BundleFile& one : files) print_line(Text::format("  {:<18} {} bytes", one.name, one.text.size()));
  print_line(
      Text::format("it has no host name and none of your paths, and only the variables of GPUs and networks; "
                   "read it before you send it: tar -xzf {}",
                   shell_word(file)));
  return 0;
}

/// A report on a path that does not exist would be empty.
void check_place(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    throw UsageError(fmt::format("doctor: {}: {}", path, error ? error.message() : "No such file or directory"));
  if (!fs::is_directory(status) && !fs::is_block_file(status))
    throw UsageError(fmt::format("doctor: {}: neither a folder nor a block device", path));
}

struct DoctorArguments {
  std::string path = ".", bundle, run, table;
  bool json = false, expect = false, show_table = false;
};

int doctor(const DoctorArguments& arguments, const Shared& shared) {
  const std::string& path = arguments.path;
  if (arguments.show_table) {
    print_document(std::string(expectations::carried_table()));
    return 0;
  }
  if (arguments.expect) return expected_of_machine(path, arguments.table, arguments.json, shared);
  check_place(path);
  if (!arguments.run.empty() && arguments.bundle.empty())
    throw UsageError("doctor: --run goes into a bundle: with --bundle");
  if (!arguments.bundle.empty()) files::check_output(arguments.bundle, arguments.run, kBundleSign);
  Node node(path);
  std::vector<Finding> findings = system::examine(path, node);
  const auto append = [&findings](const std::vector<Finding>& more) {
    findings.insert(findings.end(), more.begin(), more.end());
  };
  if (const auto mount = system::mount_of(path)) append(system::examine_file_system(*mount, path));
  const std::vector<system::NetworkLink> links = system::network_links();
  append(system::examine_network(links, nccl_settings(), system::ip_interfaces()));
  if (node.backends().why_not(Gives::rdma).empty())
    append(
        system::examine_rdma(node.backends().rdma(), system::limit_of(RLIMIT_MEMLOCK), system::may_lock_all_memory()));
  append(system::examine_driver(start_nvml()));
  if (node.backends().why_not(Gives::gpus).empty())
    append(system::examine_gpus(node.backends().gpu(), links, system::logged_errors_here()));
  else
    append({{Finding::Level::note, "gpus", "GPUs", system::without_gpus(), ""}});
  append(workloads(node));
  if (!arguments.bundle.empty()) return bundle(arguments.bundle, path, arguments.run, findings, node);
  if (arguments.json)
    print_document(json_text(document(path, findings, system::fingerprint(path, node))));
  else
    print_text(path, findings, Terminal(stdout, shared));
  return 0;
}

void add_doctor(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("doctor", "Show this machine, which workloads can run on it, and why others cannot");
  auto a = std::make_shared<DoctorArguments>();
  verb.option("DIR", a->path, "Where the data of a run would be (default: the current folder)");
  verb.flag("--json", a->json, "Print JSON");
  verb.option(
      "--bundle FILE", a->bundle,
      "Write one archive (tar.gz) of what this machine is, to be sent: topology, versions, counters, the kernel's "
      "words about devices; no secrets");
  verb.option("--run RUN", a->run, "With --bundle: what this finished run measured, too");
  verb.group("Healthy hardware");
  verb.flag("--expect", a->expect, "Show what healthy hardware of this machine delivers, before anything runs");
  verb.group("Healthy hardware", false, "--expect");
  add_expectations_option(verb, a->table);
  verb.flag("--show-table", a->show_table, "Print headrace's own table, with the source of each entry");
  verb.alone("--expect", {"DIR", "--json"});
  verb.example("headrace doctor /tmp", "Can data below /tmp be measured, and with which engines?");
  verb.example("headrace doctor /tmp --expect", "What should be measured here, before anything runs?");
  verb.example("headrace doctor --bundle bundle.tar.gz", "What to send when hardware is not as it should be");
  verb.does([&shared, a] { return doctor(*a, shared); });
}

const RegisterVerb registered_doctor{20, add_doctor};

}  // namespace
}  // namespace headrace::cli
