#include "harness/bringup/agents/agent.h"

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/backends/loader.h"
#include "harness/base/error.h"
#include "harness/base/start_thread.h"
#include "harness/base/utc.h"
#include "harness/base/version.h"
#include "harness/bringup/agents/facts.h"
#include "harness/bringup/agents/own_run.h"
#include "harness/bringup/agents/pair_json.h"
#include "harness/bringup/agents/placed.h"
#include "harness/bringup/agents/protocol.h"
#include "harness/bringup/network/rdma_pair.h"
#include "harness/bringup/network/tcp_pair.h"
#include "harness/machine/node.h"

namespace headrace::agents {
namespace {

using Json = nlohmann::json;

/// The next line; false: there are no more.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) {}
  bool next(std::string& line) {
    std::size_t end;
    while ((end = text_.find('\n')) == std::string::npos) {
      char block[4096];
      const ssize_t got = ::read(fd_, block, sizeof block);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      text_.append(block, static_cast<std::size_t>(got));
    }
    line = text_.substr(0, end);
    text_.erase(0, end + 1);
    return true;
  }

 private:
  const int fd_;
  std::string text_;
};

/// A failure between two hosts; other exceptions are failures of this host.
template <class Do>
Json with_other_host(Do act) {
  try {
    return act();
  } catch (const NotConnected& e) {
    return {{"error", e.what()}};
  } catch (const NoThread&) {
    throw;
  } catch (const std::exception& e) {
    return {{"error", e.what()}, {"connected", true}};
  }
}

class Agent {
 public:
  explicit Agent(int input) : input_(input) {}
  Json answer(const Json& asked) {
    const auto what = asked.at("do").get<std::string>();
    if (what != "connect rdma" && what != "measure rdma") rdma_.reset();  // whose other end could not go on
    if (what == "facts") return facts_json(asked.at("paths").get<std::vector<std::string>>(), asked.value("rdma", ""));
    if (what == "clock") return {{"now_s", wall_clock_s()}};
    if (what == "open") {
      door_ = std::make_unique<TcpPairListener>(plan_from(asked.at("plan")));
      return {{"door", door_text(door_->door())}};
    }
    if (what == "answer") {
      if (!door_) throw RunError("nothing was opened");
      const std::unique_ptr<TcpPairListener> door = std::move(door_);
      return with_other_host([&] {
        const TcpDoor back = door_from(asked.at("door").get<std::string>());
        return end_json(door->answer(&back));
      });
    }
    if (what == "call") {
      if (!door_) throw RunError("nothing was opened");
      const std::unique_ptr<TcpPairListener> door = std::move(door_);
      const TcpPairPlan plan = plan_from(asked.at("plan"));
      return with_other_host(
          [&] { return end_json(call_pair(door_from(asked.at("door").get<std::string>()), plan, door.get())); });
    }
    if (what == "open rdma") {
      if (!node_) node_ = std::make_unique<Node>("");
      rdma_ = std::make_unique<RdmaPair>(node_->backends().rdma(), rdma_plan_from(asked.at("plan")));
      return {{"card", hex(rdma_->card())}};
    }
    if (what == "connect rdma") {
      if (!rdma_) throw RunError("nothing was opened");
      return with_other_host([&] {
        rdma_->connect(bytes_from(asked.at("card").get<std::string>()));
        return Json::object();
      });
    }
    if (what == "measure rdma") {
      if (!rdma_) throw RunError("nothing was opened");
      const std::unique_ptr<RdmaPair> pair = std::move(rdma_);
      return with_other_host([&] { return rdma_end_json(pair->measure(asked.at("leads").get<bool>())); });
    }
    if (what == "run") return {{"run", own_run(run_from(asked), input_)}};
    if (what == "place" || what == "take away") {
      const Placed files{asked.at("folder").get<std::string>(), asked.value("config", ""), asked.value("job", "")};
      what == "place" ? place(files) : take_away(files);
      return Json::object();
    }
    if (what == "clean") return {{"left", clean_after(run_from(asked))}};
    throw RunError("this headrace does not know how to do: " + what);
  }

 private:
  const int input_;
  std::unique_ptr<Node> node_;  // of RDMA alone: one that also looked at GPUs might keep a run on this host from them
  std::unique_ptr<TcpPairListener> door_;
  std::unique_ptr<RdmaPair> rdma_;  // goes before the node's backends do
};

}  // namespace

void serve_agent(int input, const std::function<void(const std::string&)>& say) {
  const auto report = [&](const Json& answer) {
    say(std::string(kMark) + answer.dump(-1, ' ', true, Json::error_handler_t::replace));
  };
  report({{"agent", kProtocol}, {"version", kVersion}});
  Lines lines(input);
  Agent agent(input);
  for (std::string line; lines.next(line);) {
    Json answer;
    try {
      answer = agent.answer(Json::parse(line));
    } catch (const std::exception& e) {
      answer = {{"error", e.what()}, {"own", true}};
    }
    report(answer);
  }
}

}  // namespace headrace::agents
