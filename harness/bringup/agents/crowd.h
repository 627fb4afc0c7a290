// Processes on many hosts that a launcher has started (ssh, srun, mpirun: a command for each host), asked all at once over
// their standard input and output. A host that goes silent or ends costs its own answers, and nobody else's.
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
  /// `commands`: of each host, for a shell. Starts nothing yet. `stop` is asked ten times a second: once it says so, all
  /// waits end.
  Crowd(std::vector<std::string> commands, std::function<bool()> stop);
  /// Ends all of them: their input closes; who is there seconds later is killed with what it has started.
  ~Crowd();
  Crowd(const Crowd&) = delete;

  /// Starts them, some dozens a second, and waits for the first word of each for at most `timeout_s`, whoever else is silent:
  /// any number of dead hosts costs that time once. `one_more` gets how many are known to be there or not.
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
