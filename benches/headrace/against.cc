#include "benches/headrace/against.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "benches/headrace/compare_text.h"
#include "benches/headrace/console.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/session/interleave.h"
#include "benches/headrace/terminal.h"
#include "benches/headrace/verb.h"
#include "harness/analysis/comparison/output.h"
#include "harness/analysis/comparison/row_words.h"
#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/system/installation.h"
#include "harness/base/units.h"
#include "harness/record/recorder.h"

namespace headrace::cli {
namespace {

// The end of interleaved blocks: their files, their page, and the comparison in words.

/// The text on standard output: the comparison in words or as JSON, only where the files are, or nothing.
enum class OutputForm { text, json, files, none };

/// Writes the comparison's files into `folder`, draws the page, reports the comparison and how to go
/// on. Returns the exit code.
int finish_blocks(session::Interleaved& result, const MarkedFolder& folder, OutputForm reported, bool report,
                  const Shared& shared) {
  std::string files = "blocks.json";
  if (result.comparison) {
    result.comparison->command = shared.command;
    comparison::write_comparison(*result.comparison, folder);
    files += ", comparison.json, comparison.csv, junit.xml";
    if (report) {
      const Drawn drawn = draw_into(folder, "comparison.json");
      if (drawn.page.empty())
        print_stderr_line(Text::format("report: not drawn: {}", drawn.reason));
      else
        files = "report.html, " + files;
    }
    if (reported == OutputForm::json) print_document(comparison_json(*result.comparison));
    const Terminal terminal(stdout, shared);
    if (reported == OutputForm::text)
      print(answer_text(comparison_answer(*result.comparison), terminal) +
            comparison_text(*result.comparison, terminal, false));
  }
  const int code = result.signal != 0 ? exit_code(Outcome::interrupted, result.signal) : result.comparison->exit_code;
  if (reported == OutputForm::json || reported == OutputForm::none) return code;
  print_line("files   " + wrap(Text::format("{}: {}", folder.path(), files), 96, 8));
  if (result.signal != 0)
    print_line(Text::format("next    the same command with --out {} goes on after block {}", shell_word(folder.path()),
                            result.blocks.finished()));
  if (reported == OutputForm::files) return code;
  if (result.signal != 0)
    print_line(Text::format("VERDICT INTERRUPTED blocks={} exit={}", result.blocks.finished(), code));
  else
    print_line(comparison_last_line(*result.comparison));
  return code;
}

// Reports a person on standard error how far interleaved blocks are: one live line, or one line a turn.

using comparison::Blocks;
using comparison::Turn;

/// The current block, and how long the rest will take: one live line, or one line a turn.
class BlockProgress final : public session::TurnObserver {
 public:
  explicit BlockProgress(const Shared& shared)
      : terminal_(stderr, shared),
        json_(shared.progress == "json"),
        silent_(shared.progress == "none" || shared.verbosity < 0),
        live_(shared.progress == "auto" && terminal_.interactive()) {}
  ~BlockProgress() override { clear(); }

  void started(const Blocks& blocks, const Turn& turn) override {
    begun_ns_ = now_ns();
    left_ = 0;
    for (unsigned block = turn.block; block <= blocks.planned; ++block)
      for (const Turn& later : comparison::turns_of_block(block))
        if (block > turn.block || later.number >= turn.number) left_ += mean_s(later.side);
    head_ = fmt::format("block {}/{}  turn {}/{}  {}", turn.block, blocks.planned, turn.number,
                        comparison::kTurnsPerBlock, blocks.sides[turn.side].label);
    if (json_)
      write({{"event", "turn_started"},
             {"block", turn.block},
             {"turn", turn.number},
             {"side", blocks.sides[turn.side].label}});
    else
      show("");
  }

  void progress(std::string_view text) override {
    const auto event = nlohmann::json::parse(text, nullptr, false);
    if (json_ || !event.is_object() || !event.contains("event")) {
      say(text);
      return;
    }
    try {
      write_event(event);
    } catch (const nlohmann::json::exception&) {  // another version's: not for this line
    }
  }

  void done(const Blocks& blocks, const Turn& turn) override {
    const double took = static_cast<double>(now_ns() - begun_ns_) * 1e-9;
    took_s_[turn.side] += took;
    ++turns_[turn.side];
    if (json_)
      write({{"event", "turn_done"},
             {"block", turn.block},
             {"turn", turn.number},
             {"side", blocks.sides[turn.side].label},
             {"exit_code", turn.exit_code},
             {"elapsed_s", took}});
    else if (!live_ && !silent_)
      say(Text::format("{}  {}  {}", head_, format_duration(took), eta(took)));
  }

  void message(const std::string& text) override { say(text); }

  void complaint(const std::string& lines) override {
    clear();
    cli::print_stderr(Text::lines(lines));
  }

 private:
  void say(const Text& text) {
    clear();
    print_stderr_line(text);
  }
  double mean_s(std::size_t side) const {
    const unsigned both = turns_[0] + turns_[1];
    if (turns_[side] > 0) return took_s_[side] / turns_[side];
    return both > 0 ? (took_s_[0] + took_s_[1]) / both : 0;
  }
  std::string eta(double since_s) const {
    return left_ > 0 ? "ETA " + format_duration(std::max(left_ - since_s, 0.0)) : "ETA ?";
  }
  void write_event(const nlohmann::json& event) {
    const std::string what = event.at("event");
    if (what == "point_started")
      point_ = fmt::format("[{}/{}] {}", event.at("number").get<int>(), event.at("total").get<int>(),
                           event.at("point").get<std::string>());
    if (what == "live" && event.at("bytes_per_s").get<double>() > 0)
      show(point_ + "  " + format_quantity(event.at("bytes_per_s").get<double>(), Dimension::bytes_per_second));
    else if (what == "repetition_done" && !event.at("error").get<std::string>().empty())
      say("  ! " + Text(event.at("error").get<std::string>()));
    else
      show(point_);
  }
  void show(const std::string& detail) {
    if (!live_ || silent_) return;
    const Text text = Text::format("{}  {}  {}", head_, detail, eta(static_cast<double>(now_ns() - begun_ns_) * 1e-9));
    clear();
    cli::print_stderr(cut(text, static_cast<std::size_t>(terminal_.width() - 1)));
    dirty_ = true;
  }
  void clear() {
    if (dirty_) cli::print_stderr("\r\033[K");
    dirty_ = false;
  }
  void write(const nlohmann::json& object) { print_json_line(object.dump()); }

  Terminal terminal_;
  bool json_, silent_, live_, dirty_ = false;
  std::string head_, point_;
  std::uint64_t begun_ns_ = 0;
  double left_ = 0, took_s_[2] = {0, 0};
  unsigned turns_[2] = {0, 0};
};

/// `shared.progress` decides, as for make_progress().
std::unique_ptr<session::TurnObserver> make_block_progress(const Shared& shared) {
  return std::make_unique<BlockProgress>(shared);
}

namespace fs = std::filesystem;

/// The other side: the arguments of its turns, and its intended differences.
struct Other {
  std::string binary;
  PlanArguments plan;
  std::vector<std::string> declared;
};

bool names_config(const fs::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml" || path.extension() == ".json";
}

Other other_side(const std::string& given, const PlanArguments& plan) {
  Other other{system::installation().binary, plan, {}};
  const std::string shipped = system::find_shipped(given);
  if (names_config(given) || names_config(shipped)) {
    if (!fs::is_regular_file(shipped)) throw UsageError(fmt::format("--against: {}: no such configuration", given));
    (other.plan.config.empty() ? other.plan.file : other.plan.config) = given;
    return other;
  }
  if (fs::is_regular_file(given)) {
    if (::access(given.c_str(), X_OK) != 0)
      throw UsageError(
          fmt::format("--against: {} is neither a configuration (.yaml), nor a program, nor a folder", given));
    other.binary = fs::absolute(given).string();
    other.declared = {"headrace"};
    return other;
  }
  // A scratch folder need not exist yet, its parent must.
  const fs::path parent = fs::absolute(given).lexically_normal().parent_path();
  if (!fs::is_directory(given) && !fs::is_directory(parent))
    throw UsageError(fmt::format("--against: {}: there is no such configuration, program or folder", given));
  other.plan.at.clear();
  other.plan.set.push_back("target.path=" + given);
  other.declared = {"device", "file_system"};
  return other;
}

/// Parameters in which points of the same name differ: these are compared.
std::vector<std::string> differing_params(const Plan& a, const Plan& b) {
  std::set<std::string> names;
  for (const Point& point : a.points) {
    const auto same = std::find_if(b.points.begin(), b.points.end(), [&](const Point& p) { return p.id == point.id; });
    if (same == b.points.end()) continue;
    for (const auto* one : {&point, &*same})
      for (const auto& [key, value] : one->params) {
        const auto& there = (one == &point ? *same : point).params;
        const auto found = there.find(key);
        if (found == there.end() || found->second != value) names.insert(key);
      }
    if (point.cache != same->cache) names.insert("cache");
  }
  return {names.begin(), names.end()};
}

void require_common_points(const Plan& a, const Plan& b) {
  const bool common = std::any_of(a.points.begin(), a.points.end(), [&](const Point& p) {
    return std::any_of(b.points.begin(), b.points.end(), [&](const Point& q) { return p.info->name == q.info->name; });
  });
  if (!common) throw UsageError("--against: the two measure different workloads: nothing could be compared");
}

/// Another headrace must take the command line before hours are spent.
void try_out(const std::vector<std::string>& command) {
  std::vector<std::string> dry = command;
  dry.push_back("--dry-run");
  std::string reported;
  const int code = session::run_turn(dry, [&](std::string_view line) { reported += std::string(line) + '\n'; });
  if (code != 0)
    throw UsageErrors(fmt::format("--against: {} ends with {} when asked for its plan:\n{}", printable(command.front()),
                                  code, reported));
}

Text noise_text(const comparison::Noise& noise, const Terminal& terminal) {
  std::size_t width = 6;
  for (const auto& row : noise.rows) width = std::max(width, columns(row.point.id) + columns(row.metric) + 2);
  Text out = terminal.paint(
      Text::format("\n{}  {:>11}  {:>12}  {}\n", pad("metric", width), "noise floor", "false alarms", "called"),
      Ink::strong);
  for (const auto& row : noise.rows)
    out += Text::format("{}  {:>11}  {:>12}  {}\n", pad(Text::format("{}  {}", row.point.id, row.metric), width),
                        "\u00b1" + comparison::share_text(row.noise_floor),
                        comparison::share_text(row.false_alarm_rate), comparison::to_string(row.status));
  const auto summary = noise.summary();
  return out + Text::format(
                   "\nthis system against itself: half of the metrics differ by at most \u00b1{}; {} of "
                   "comparisons without a change would report one\n",
                   comparison::share_text(summary.median), comparison::share_text(summary.false_alarm_rate));
}

}  // namespace

void add_against_options(Verb& verb, AgainstArguments& arguments) {
  verb.group("Comparison");
  verb.option("--against OTHER", arguments.with,
              "Also measure another configuration, program or folder, in interleaved blocks, and compare");
  verb.flag("--against-itself", arguments.itself, "A/A test: noise floor and false alarms of each metric");
  verb.option("--blocks", arguments.blocks, "Blocks, each A B B A; judged after 6 and 12")
      .between(1, 1000)
      .shows_default();
  verb.group("Details of the comparison", true);
  add_compare_options(verb, arguments.compare);
}

std::vector<std::string> turn_command(const std::string& binary, const PlanArguments& plan) {
  std::vector<std::string> command{binary, "run"};
  for (const std::string& word : plan_words(plan)) command.push_back(word);
  if (plan.looks.empty()) command.insert(command.end(), {"--looks", "1"});
  command.insert(command.end(), {"--no-report", "--progress", "json"});
  return command;
}

int measure_against(const PlanArguments& given, const AgainstArguments& arguments, const Shared& shared) {
  if (arguments.blocks > statistics::kLastLook)
    throw UsageError(fmt::format("--blocks: at most {} with --against", statistics::kLastLook));
  const Other other = other_side(arguments.with, given);
  comparison::Options options = compare_options(arguments.compare);
  const Plan a = make_plan(plan_options(given)), b = make_plan(plan_options(other.plan));
  require_common_points(a, b);
  const Plan* both[] = {&a, &b};
  require_gates(options, both);

  comparison::Blocks blocks;
  blocks.name = a.name;
  blocks.planned = arguments.blocks;
  const std::string self = system::installation().binary;
  blocks.sides = {{"A", a.config_file, turn_command(self, given)},
                  {"B", arguments.with, turn_command(other.binary, other.plan)}};
  for (comparison::BlockSide& side : blocks.sides)
    side.command.insert(side.command.end(), arguments.passed_on.begin(), arguments.passed_on.end());
  const auto add = [](std::vector<std::string>& list, const std::vector<std::string>& more) {
    for (const std::string& one : more)
      if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  };
  add(options.declared, other.declared);
  if (a.target_path != b.target_path) add(options.declared, {"device", "file_system"});
  add(options.across, differing_params(a, b));
  blocks.declared = options.declared;
  blocks.across = options.across;
  blocks.gates = options.gates.globs();

  if (arguments.dry_run) {
    print_line(Text::format("A  {}\n{}B  {}\n{}blocks    {}, each A B B A: {} runs in all", a.config_file,
                            plan_text(a, shared), arguments.with, plan_text(b, shared), blocks.planned,
                            blocks.planned * comparison::kTurnsPerBlock));
    if (!options.across.empty()) print_line(Text::format("compared  {}", join(options.across)));
    return 0;
  }
  if (other.binary != self) try_out(blocks.sides[1].command);
  const MarkedFolder folder = session::blocks_folder(arguments.out, "against", blocks);
  const auto progress = make_block_progress(shared);
  session::Interleaved result = session::interleave(std::move(blocks), folder, options, true, *progress);
  return finish_blocks(result, folder, arguments.json ? OutputForm::json : OutputForm::text, !arguments.no_report,
                       shared);
}

int measure_against_itself(const PlanArguments& given, const AgainstArguments& arguments, const Shared& shared) {
  if (arguments.blocks < 2) throw UsageError("--blocks: at least 2 with --against-itself");
  const Plan plan = make_plan(plan_options(given));
  const comparison::Options options = compare_options(arguments.compare);
  const Plan* planned[] = {&plan};
  require_gates(options, planned);
  comparison::Blocks blocks;
  blocks.name = plan.name;
  blocks.planned = arguments.blocks;
  auto command = turn_command(system::installation().binary, given);
  command.insert(command.end(), arguments.passed_on.begin(), arguments.passed_on.end());
  blocks.sides = {{"A", plan.config_file, command}, {"B", plan.config_file, command}};
  blocks.gates = options.gates.globs();
  if (arguments.dry_run) {
    print_line(Text::format("{}blocks    {}, each A B B A of the same: {} runs in all", plan_text(plan, shared),
                            blocks.planned, blocks.planned * comparison::kTurnsPerBlock));
    return 0;
  }
  const MarkedFolder folder = session::blocks_folder(arguments.out, "aa", blocks);
  const auto progress = make_block_progress(shared);
  session::Interleaved result = session::interleave(std::move(blocks), folder, options, false, *progress);
  if (!result.comparison || result.comparison->design.blocks < 2)
    return finish_blocks(result, folder, arguments.json ? OutputForm::json : OutputForm::text, !arguments.no_report,
                         shared);
  comparison::Noise noise = comparison::noise_of(*result.comparison);
  folder.write("aa.json", comparison::noise_json(noise));
  noise.source = folder.folder().path_of("aa.json");
  comparison::set_noise(noise, *result.comparison);  // the page shows its own
  const int code = result.signal != 0 ? exit_code(Outcome::interrupted, result.signal) : noise.exit_code;
  if (arguments.json) {
    finish_blocks(result, folder, OutputForm::none, !arguments.no_report, shared);
    print_document(comparison::noise_json(noise));
    return code;
  }
  print(noise_text(noise, Terminal(stdout, shared)));
  finish_blocks(result, folder, OutputForm::files, !arguments.no_report, shared);
  const auto summary = noise.summary();
  print_line(Text::format("VERDICT {} metrics={} changed={} noise_floor={:.4f} false_alarm_rate={:.4f} exit={}",
                          to_string(result.signal != 0 ? Outcome::interrupted : noise.word), noise.rows.size(),
                          noise.changed(), summary.median, summary.false_alarm_rate, code));
  return code;
}

}  // namespace headrace::cli
