// Processes that a launcher (ssh, srun, mpirun) has started on many hosts. All are asked at once over their standard
// input and output. A host that goes silent or ends costs only its own answers.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/bringup/agents/failure.h"

namespace headrace::agents {

struct Reply {
  std::string text;                // JSON; "" where there is none
  std::string why;                 // it has none: "no answer within 20 s"
  double asked_s = 0, came_s = 0;  // CLOCK_REALTIME
};

class Crowd {
 public:
  /// `commands`: of each host, for a shell. Starts nothing yet. `stop` is called ten times a second: once it returns
  /// true, all waits end.
  Crowd(std::vector<std::string> commands, std::function<bool()> stop);
  /// Ends all of them: their input closes; a process that still runs seconds later is killed with its children.
  ~Crowd();
  Crowd(const Crowd&) = delete;

  /// Starts them, some dozens a second, and waits at most `timeout_s` for the first answer of each. Any number of dead
  /// hosts costs that time once. `one_more` gets the number of settled hosts.
  void start(double timeout_s, const std::function<void(std::size_t)>& one_more);
  /// Asks all of these at once, however long the requests are; each has an answer, or why there is none. A host that does not
  /// answer two requests in a row in time is given up.
  std::map<std::size_t, Reply> ask(const std::map<std::size_t, std::string>& requests, double timeout_s);

  /// Why one is not there (any more).
  const Failure& failure(std::size_t host) const;
  bool there(std::size_t host) const { return !failure(host); }
  /// False: it did not answer its latest request in time.
  bool answers(std::size_t host) const;
  bool stopped() const { return stop_(); }

 private:
  struct Member;
  void begin(Member& member);
  bool exchange(double timeout_s);
  void send(Member& member);
  void receive(Member& member, int fd);
  void give_up(Member& member, const std::string& why, const std::string& fix, bool unreachable = false);
  void ended(Member& member);
  static bool take_line(Member& member, std::string& line);
  static bool take_answer(Member& member, std::string& text);
  void miss(Member& member, Reply& reply, double timeout_s);

  std::vector<std::unique_ptr<Member>> members_;
  const std::function<bool()> stop_;
};

}  // namespace headrace::agents
