#include "benches/headrace/bringup_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "benches/headrace/console.h"
#include "benches/headrace/terminal.h"
#include "harness/base/units.h"

namespace headrace::cli {
namespace {

using namespace bringup;

class BringupProgress final : public Audience {
 public:
  explicit BringupProgress(const Shared& shared)
      : terminal_(stderr, shared),
        json_(shared.progress == "json"),
        silent_(shared.progress == "none" || shared.verbosity < 0),
        live_(shared.progress == "auto" && terminal_.interactive()) {}
  ~BringupProgress() override { clear(); }

  void started(std::size_t known, std::size_t all) override {
    if (json_) return event({{"event", "agents"}, {"known", known}, {"all", all}});
    if (live_) show(Text::format("starting agents  {} of {}", known, all));
  }

  void looked(const Record& record) override {
    std::size_t differing = 0;
    for (const NodeRecord& node : record.nodes) {
      const bool fault = std::any_of(node.differences.begin(), node.differences.end(),
                                     [](const Difference& one) { return one.fault; });
      differing += fault;
      if (node.missing) say_missing(node);
    }
    if (json_) return event({{"event", "looked"}, {"missing", record.missing()}, {"unlike_the_others", differing}});
    say(Text::format("looked at {} hosts: {} missing, {} unlike the others", record.nodes.size(), record.missing(),
                     differing));
  }

  void step(const char* what, std::size_t nodes) override {
    if (json_) return event({{"event", "step"}, {"step", what}, {"nodes", nodes}});
    const Text text = Text::format("{}  on {} nodes at once", what, nodes);
    live_ ? show(text) : say(text);
  }

  void round(unsigned number, std::size_t pairs, double left_s) override {
    if (json_) return event({{"event", "round"}, {"round", number}, {"pairs", pairs}, {"left_s", left_s}});
    const Text text = Text::format("round {}  {} pair{}  about {} left", number, pairs, pairs == 1 ? "" : "s",
                                   format_duration(left_s));
    live_ ? show(text) : say(text);
  }

  void measured(const RoundRecord& round, const Record& record) override {
    for (const NodeRecord& node : record.nodes)
      if (node.missing) say_missing(node);
    if (json_)
      return event({{"event", "measured"},
                    {"pairs", round.pairs.size()},
                    {"failed", round.failed.size()},
                    {"accepted", record.nodes_that_are(NodeState::accepted)},
                    {"confirmed", record.nodes_that_are(NodeState::confirmed)}});
    for (const FailedPair& one : round.failed)
      say(Text::format("not measured: {} to {}: {}", record.nodes[one.a].host.name, record.nodes[one.b].host.name,
                       one.why));
  }

 private:
  /// Once each.
  void say_missing(const NodeRecord& node) {
    if (std::find(said_.begin(), said_.end(), node.host.name) != said_.end()) return;
    said_.push_back(node.host.name);
    if (json_) return event({{"event", "missing"}, {"node", node.host.name}, {"why", node.missing.why}});
    say(Text::format("missing: {}: {}", node.host.name, node.missing.why));
  }
  void event(const nlohmann::json& json) {
    if (!silent_) print_json_line(json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  }
  void say(const Text& text) {
    if (silent_ || json_) return;
    clear();
    print_stderr_line(text);
  }
  void show(const Text& text) {
    if (silent_) return;
    clear();
    print_stderr(cut(text, static_cast<std::size_t>(terminal_.width() - 1)));
    dirty_ = true;
  }
  void clear() {
    if (dirty_) print_stderr("\r\033[K");
    dirty_ = false;
  }

  const Terminal terminal_;
  const bool json_, silent_, live_;
  bool dirty_ = false;
  std::vector<std::string> said_;
};

}  // namespace

std::unique_ptr<Audience> make_bringup_progress(const Shared& shared) {
  return std::make_unique<BringupProgress>(shared);
}

}  // namespace headrace::cli
