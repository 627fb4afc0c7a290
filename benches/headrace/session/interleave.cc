#include "benches/headrace/session/interleave.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "benches/headrace/session/run_folder.h"
#include "benches/headrace/session/supervisor.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/printable.h"
#include "harness/base/system/spawn.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::session {

namespace {

volatile sig_atomic_t running = 0;  // the turn's process
volatile sig_atomic_t caught = 0;

void on_signal_waiting(int number) {
  const int code = errno;
  // Handed on, for it may have been sent to this process alone; the turn takes both for one.
  if (running > 0) ::kill(static_cast<pid_t>(running), number);
  switch (count_request()) {
    case Request::first:
      caught = number;
      break;
    case Request::same:
      break;
    case Request::again:
      ::_exit(128 + number);
  }
  errno = code;
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

/// Lines as they come; the last one may lack its end.
void read_lines(int from, const std::function<void(std::string_view)>& on_line) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(from, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      on_line(std::string_view(text).substr(begin, end - begin));
    text.erase(0, begin);
  }
  if (!text.empty()) on_line(text);
}

}  // namespace

TurnSignals::TurnSignals() {
  handle(SIGINT, on_signal_waiting);
  handle(SIGTERM, on_signal_waiting);
}

TurnSignals::~TurnSignals() {
  handle(SIGINT, SIG_DFL);
  handle(SIGTERM, SIG_DFL);
}

int TurnSignals::first() const { return caught; }

int run_turn(const std::vector<std::string>& command, const std::function<void(std::string_view line)>& on_line) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("start", command.front(), errno);
  const system::UniqueFd from(ends[0]);
  system::UniqueFd to(ends[1]);
  const pid_t pid = system::spawn_tied(command, to.get());
  to = system::UniqueFd();
  running = pid;
  if (caught != 0) ::kill(pid, caught);  // it came while the process was made
  read_lines(from.get(), on_line);
  const int status = system::wait_for_end(pid);
  running = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) throw RunError("cannot start " + command.front());
  return system::exit_code_of(status);
}

namespace {

namespace fs = std::filesystem;
using comparison::Blocks;
using comparison::Turn;

/// Did the turn leave a whole run? Throws when it cannot have, for every further turn would fail,
/// too.
bool left_a_run(const Turn& turn, const std::string& path, const std::string& reported, TurnObserver& observer) {
  if (turn.exit_code == 128 + SIGINT || turn.exit_code == 128 + SIGTERM) return false;
  const std::string what = fmt::format("turn {} of block {} ({})", turn.number, turn.block, path);
  if (turn.exit_code == 2) throw UsageErrors(printable(what) + " was refused:\n" + reported);
  if (!fs::is_regular_file(fs::path(path) / "run.json")) {
    observer.complaint(reported);
    throw RunError(fmt::format("{} ended with {} and left no run", what, turn.exit_code));
  }
  return true;
}

comparison::Comparison compare_blocks(const Blocks& blocks, const std::string& folder,
                                      const comparison::Options& options) {
  auto sides = comparison::sides_of(blocks, folder);
  comparison::Options own = options;
  if (!own.noise) own.noise = comparison::newest_noise(folder, sides.front().first());
  return comparison::compare(std::move(sides), own);
}

}  // namespace

Interleaved interleave(Blocks blocks, const MarkedFolder& folder, const comparison::Options& options, bool stop_early,
                       TurnObserver& observer) {
  Interleaved result;
  const TurnSignals signals;
  const auto save = [&] { folder.write(comparison::kBlocksFile, comparison::blocks_json(blocks)); };
  // An interrupted block is measured anew: its turns belong together in time.
  const unsigned done = blocks.finished();
  std::erase_if(blocks.turns, [&](const Turn& turn) { return turn.block > done; });
  comparison::remove_block(blocks, folder, done + 1);
  save();
  for (unsigned block = done + 1; block <= blocks.planned && signals.first() == 0; ++block) {
    folder.folder().make(comparison::block_folder(block));
    for (Turn turn : comparison::turns_of_block(block)) {
      const std::string path = (fs::path(folder.path()) / turn.folder(blocks.sides)).string();
      std::vector<std::string> command = blocks.sides[turn.side].command;
      command.insert(command.end(), {"--out", path});
      observer.started(blocks, turn);
      std::string reported;
      turn.exit_code = run_turn(command, [&](std::string_view line) {
        if (!line.starts_with('{'))
          reported += std::string(line) + '\n';
        else
          observer.progress(line);
      });
      if (!left_a_run(turn, path, reported, observer) || signals.first() != 0) break;
      blocks.turns.push_back(turn);
      observer.done(blocks, turn);
      save();
    }
    const bool look = stop_early && block == statistics::kFirstLook && block < blocks.planned;
    if (!look || signals.first() != 0) continue;
    if (compare_blocks(blocks, folder.path(), options).word != Outcome::inconclusive) {
      observer.message(fmt::format("every gate is decided after {} blocks", block));
      break;
    }
    observer.message(fmt::format("not decided after {} blocks: going on to {}", block, blocks.planned));
  }
  result.signal = signals.first();
  if (blocks.finished() > 0) result.comparison = compare_blocks(blocks, folder.path(), options);
  result.blocks = std::move(blocks);
  return result;
}

MarkedFolder blocks_folder(const std::string& out, const std::string& suffix, Blocks& blocks) {
  if (!out.empty()) {
    MarkedFolder folder = MarkedFolder::make_alone(out, comparison::kBlocksKind);
    if (!comparison::holds_blocks(out)) return folder;
    const Blocks before = comparison::read_blocks(out);
    if (before.sides != blocks.sides)
      throw UsageError(
          fmt::format("--out: {} holds blocks of other sides; name another folder, or repeat their command", out));
    blocks.turns = before.turns;
    return folder;
  }
  return MarkedFolder::make_next(next_folder(blocks.name + "-" + suffix), comparison::kBlocksKind);
}

}  // namespace headrace::session
