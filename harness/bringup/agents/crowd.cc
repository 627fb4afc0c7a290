#include "harness/bringup/agents/crowd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/base/system/spawn.h"
#include "harness/base/system/unique_fd.h"
#include "harness/base/utc.h"
#include "harness/base/version.h"
#include "harness/bringup/agents/child.h"
#include "harness/bringup/agents/protocol.h"
#include "harness/machine/limits.h"

namespace headrace::agents {
namespace {

using system::UniqueFd;

constexpr std::size_t kAtOnce = 48;  // launchers that are starting: ssh takes processor time,
constexpr double kStarting_s = 1;    // for this time; then only its own host waits for it
constexpr std::size_t kLongestLine = 1 << 20;
constexpr double kLook_s = 0.1;
constexpr double kLast_s = 0.02,
                 kDrain_s = 2;                // for data in the pipes when the time is over: a part of it, and all
constexpr double kAgentEnd_s = 3;             // for an agent to end its programs, and to remove its files
constexpr std::size_t kMostComplaint = 4096;  // of a launcher's messages, the end is kept

constexpr bool kSilent = true;

/// The meaning of a launcher's exit code.
std::string fix_for(int code) {
  if (code == 255) return "check that it is up, and that the launcher reaches it without a password";
  if (code == 126 || code == 127) return "install the same headrace under the same path, or say where it is: --remote";
  if (code == 2) return "install the same version of headrace there, or say where it is: --remote";
  return "start the agent by hand as the launcher does, and read its messages";
}

/// The program that starts `command`, where this machine's shell does not find it: "" = it does.
std::string missing_launcher(const std::string& command, int code, const std::string& complaint) {
  const std::string program = command.substr(0, command.find(' '));
  return code == 127 && complaint.find(": " + program + ": ") != complaint.npos ? program : "";
}

}  // namespace

struct Crowd::Member {
  std::string command;
  pid_t pid = -1;
  UniqueFd in, out, err;
  std::string unsent, heard, complained;
  unsigned owed = 0;    // answers to earlier requests that may still come
  bool answers = true;  // it answered the last request
  double heard_s = 0;   // CLOCK_REALTIME of the latest bytes
  bool begun = false, met = false;
  Deadline starting{0};
  Deadline until{0};  // for its first word
  Failure failure;
};

Crowd::Crowd(std::vector<std::string> commands, std::function<bool()> stop) : stop_(std::move(stop)) {
  for (std::string& command : commands) {
    members_.push_back(std::make_unique<Member>());
    members_.back()->command = std::move(command);
  }
  system::make_room_for_files(3 * members_.size() + 16);
}

Crowd::~Crowd() {
  for (const auto& one : members_) one->in = UniqueFd();
  for (const Deadline patience(kAgentEnd_s);;) {
    bool any = false;
    for (const auto& one : members_)
      if (one->pid > 0 && ::waitpid(one->pid, nullptr, WNOHANG) == one->pid)
        one->pid = -1;
      else
        any = any || one->pid > 0;
    if (!any || patience.over()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (const auto& one : members_) {
    if (one->pid <= 0) continue;
    ::kill(-one->pid, SIGKILL);
    ::waitpid(one->pid, nullptr, 0);
  }
}

const Failure& Crowd::failure(std::size_t host) const { return members_.at(host)->failure; }
bool Crowd::answers(std::size_t host) const { return members_.at(host)->answers; }

/// In a process group of its own: Ctrl-C is for this process, which then ends the others in their turn.
void Crowd::begin(Member& member) {
  member.begun = true;
  int in[2], out[2], err[2];
  if (::pipe2(in, O_CLOEXEC) != 0) return give_up(member, "pipe: " + errno_text(errno), "raise ulimit -n");
  member.in = UniqueFd(in[1]);
  UniqueFd their_in(in[0]);
  if (::pipe2(out, O_CLOEXEC) != 0) return give_up(member, "pipe: " + errno_text(errno), "raise ulimit -n");
  member.out = UniqueFd(out[0]);
  UniqueFd their_out(out[1]);
  if (::pipe2(err, O_CLOEXEC) != 0) return give_up(member, "pipe: " + errno_text(errno), "raise ulimit -n");
  member.err = UniqueFd(err[0]);
  UniqueFd their_err(err[1]);
  for (const int fd : {member.in.get(), member.out.get(), member.err.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);

  const int code = system::spawn({.words = {"/bin/sh", "-c", member.command},
                                  .in = their_in.get(),
                                  .out = their_out.get(),
                                  .errors = their_err.get(),
                                  .heeded = {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM},
                                  .own_group = true},
                                 member.pid);
  if (code != 0) {
    member.pid = -1;
    give_up(member, "/bin/sh: " + errno_text(code), "");
  }
}

void Crowd::give_up(Member& member, const std::string& why, const std::string& fix, bool unreachable) {
  if (member.failure) return;
  member.failure = {why, fix, unreachable};
  member.in = UniqueFd();
  member.out = UniqueFd();
  member.err = UniqueFd();
  if (member.pid > 0) ::kill(-member.pid, SIGTERM);
}

/// Its output has ended: so has it, or it is about to.
void Crowd::ended(Member& member) {
  int status = 0;
  pid_t got = 0;
  for (const Deadline patience(1); (got = ::waitpid(member.pid, &status, WNOHANG)) == 0 && !patience.over();)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  char block[512];
  for (ssize_t more; (more = ::read(member.err.get(), block, sizeof block)) > 0;)
    member.complained.append(block, static_cast<std::size_t>(more));
  if (got == member.pid) member.pid = -1;
  const std::string words = complaint_in(member.complained);
  if (got <= 0 || !WIFEXITED(status))
    return give_up(member, words.empty() ? "its agent ended" : "its agent ended: " + words, "is the host up?", kSilent);
  const int code = WEXITSTATUS(status);
  if (const std::string program = missing_launcher(member.command, code, words); !member.met && !program.empty())
    return give_up(member, fmt::format("the launcher {} is not on this machine", program),
                   "install it or give --launch");
  std::string why = member.met    ? "its agent ended"
                    : code == 255 ? "cannot be reached"
                    : code == 127 ? "headrace is not there"
                                  : fmt::format("the agent did not start, exit code {}", code);
  if (!words.empty()) why += ": " + words;
  give_up(member, why, member.met ? "is the host up?" : fix_for(code), code == 255 ? kSilent : false);
}

/// As much of a request as its pipe takes now.
void Crowd::send(Member& member) {
  const ssize_t sent = ::write(member.in.get(), member.unsent.data(), member.unsent.size());
  if (sent > 0) member.unsent.erase(0, static_cast<std::size_t>(sent));
  if (sent < 0 && errno != EAGAIN && errno != EINTR) give_up(member, "its agent closed its input", "is the host up?");
}

/// Takes in the data that came on `fd`.
void Crowd::receive(Member& member, int fd) {
  const bool words = fd == member.out.get();
  char block[1 << 16];
  const ssize_t got = ::read(fd, block, sizeof block);
  if (got > 0) {
    std::string& into = words ? member.heard : member.complained;
    into.append(block, static_cast<std::size_t>(got));
    if (words) member.heard_s = wall_clock_s();
    if (!words && into.size() > kMostComplaint) into.erase(0, into.size() - kMostComplaint);
    if (words && into.size() > kLongestLine)
      give_up(member, fmt::format("its agent sent more than {} KiB at once", kLongestLine >> 10), "");
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    if (words)
      ended(member);
    else
      member.err = UniqueFd();
  }
}

/// Sends the rest of the requests and takes in answers, of all members; waits for the first. False: nothing to do.
bool Crowd::exchange(double timeout_s) {
  std::vector<pollfd> waits;
  std::vector<Member*> whose;
  const auto wait_for = [&](Member& member, int fd, short what) {
    if (fd < 0) return;
    waits.push_back({fd, what, 0});
    whose.push_back(&member);
  };
  for (const auto& one : members_) {
    if (!one->begun || one->failure) continue;
    if (!one->unsent.empty()) wait_for(*one, one->in.get(), POLLOUT);
    wait_for(*one, one->out.get(), POLLIN);
    wait_for(*one, one->err.get(), POLLIN);
  }
  if (::poll(waits.data(), waits.size(), static_cast<int>(1000 * timeout_s)) <= 0) return false;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    Member& member = *whose[i];
    if (waits[i].revents == 0 || member.failure) continue;
    waits[i].events == POLLOUT ? send(member) : receive(member, waits[i].fd);
  }
  return true;
}

/// The next line of the protocol; other output of a host is ignored.
bool Crowd::take_line(Member& member, std::string& line) {
  for (std::size_t end; (end = member.heard.find('\n')) != std::string::npos;) {
    line = member.heard.substr(0, end);
    member.heard.erase(0, end + 1);
    const std::size_t mark = line.find(kMark);
    if (mark == std::string::npos) continue;
    line.erase(0, mark + kMark.size());
    return true;
  }
  return false;
}

void Crowd::start(double timeout_s, const std::function<void(std::size_t)>& one_more) {
  std::size_t next = 0, known = 0;
  const auto settled = [](const Member& one) { return one.met || one.failure; };
  const auto of_begun = [&](const auto& what) {
    return static_cast<std::size_t>(std::count_if(members_.begin(),
                                                  members_.begin() + static_cast<std::ptrdiff_t>(next),
                                                  [&](const auto& m) { return what(*m); }));
  };
  while (known < members_.size() && !stop_()) {
    std::size_t starting = of_begun([&](const Member& one) { return !settled(one) && !one.starting.over(); });
    for (; next < members_.size() && starting < kAtOnce; ++next, ++starting) {
      members_[next]->starting = Deadline(kStarting_s);
      members_[next]->until = Deadline(timeout_s);
      begin(*members_[next]);
    }
    exchange(kLook_s);
    for (std::size_t i = 0; i < next; ++i) {
      Member& one = *members_[i];
      if (std::string line; !settled(one) && take_line(one, line)) {
        one.met = true;
        const auto hello = nlohmann::json::parse(line, nullptr, false);
        const auto said = [&](const char* key) {
          return hello.is_object() && hello.contains(key) ? hello[key] : nlohmann::json();
        };
        const std::string version = said("version").is_string() ? said("version").get<std::string>() : "";
        if (version != kVersion || said("agent") != kProtocol)
          give_up(one, fmt::format("has headrace {}, and this is {}", version.empty() ? "?" : version, kVersion),
                  "install the same version there, or say where it is: --remote");
      }
      if (!settled(one) && one.until.over())
        give_up(one, fmt::format("no word from it within {:g} s", timeout_s),
                "check that it is up, and that its storage does not hang", kSilent);
    }
    const std::size_t now = of_begun(settled);
    if (now != known) one_more(now);
    known = now;
  }
}

/// The answer to the latest request; answers to earlier ones come first, and are dropped.
bool Crowd::take_answer(Member& member, std::string& text) {
  while (take_line(member, text)) {
    if (member.owed == 0) return member.answers = true;
    --member.owed;
  }
  text.clear();
  return false;
}

/// It may be another's fault that kept it waiting: it has a second chance, with a later request.
void Crowd::miss(Member& member, Reply& reply, double timeout_s) {
  reply.why = fmt::format("no answer within {:.0f} s", timeout_s);
  if (!member.answers) return give_up(member, reply.why + ", twice in a row", "is the host up?", kSilent);
  member.answers = false;
  ++member.owed;
}

std::map<std::size_t, Reply> Crowd::ask(const std::map<std::size_t, std::string>& requests, double timeout_s) {
  std::map<std::size_t, Reply> replies;
  for (const auto& [host, text] : requests) {
    replies[host].asked_s = wall_clock_s();
    members_.at(host)->unsent += text + "\n";
  }
  std::size_t open = replies.size();
  std::optional<Deadline> patience;
  for (const Deadline end(timeout_s); open > 0 && !stop_();) {
    // This process may have been stopped for a while: answers that came in that time are not late.
    const bool late = end.over();
    if (late && !patience) patience.emplace(kDrain_s);
    if (exchange(late ? kLast_s : std::min(kLook_s, end.left_s())) && late && !patience->over()) continue;
    open = 0;
    for (auto& [host, reply] : replies) {
      Member& one = *members_[host];
      if (!reply.text.empty() || !reply.why.empty()) continue;
      if (take_answer(one, reply.text))
        reply.came_s = one.heard_s;
      else if (one.failure)
        reply.why = one.failure.why;
      else if (late)
        miss(one, reply, timeout_s);
      else
        ++open;
    }
  }
  for (auto& [host, reply] : replies)
    if (reply.text.empty() && reply.why.empty()) reply.why = "stopped";
  return replies;
}

}  // namespace headrace::agents
