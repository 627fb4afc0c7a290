// What NCCL's RAS and Inspector say of ranks: taken from foreign text, and what follows from it.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <thread>

#include "harness/base/deadline.h"
#include "harness/observe/nccl/nccl_ask.h"
#include "harness/observe/nccl/nccl_behind.h"
#include "harness/observe/nccl/nccl_inspector.h"
#include "harness/observe/nccl/nccl_place.h"

namespace headrace::observe {
namespace {

using Counts = std::vector<std::uint64_t>;

/// Ranks 0, 1, ... on host "h<rank>" with process 100 + rank, each with that many launched.
NcclCommunicator ranks_at(const Counts& launched, const std::string& id = "a", int first = 0) {
  NcclCommunicator all{.id = id, .size = static_cast<int>(launched.size()), .operations = {"AllReduce"}};
  for (std::size_t i = 0; i < launched.size(); ++i) {
    const int who = first + static_cast<int>(i);
    NcclRank rank{.rank = static_cast<int>(i), .host = "h" + std::to_string(who), .pid = 100 + who, .running = true};
    rank.launched[0] = launched[i];
    all.ranks.push_back(rank);
  }
  return all;
}

/// An answer a second apart each.
NcclSeen answers(const std::vector<Counts>& all) {
  NcclSeen seen;
  for (const Counts& one : all)
    seen.looks.push_back({.at_s = static_cast<double>(seen.looks.size()), .communicators = {ranks_at(one)}});
  return seen;
}

NcclSeen standing(const Counts& counts, std::size_t looks) { return answers(std::vector<Counts>(looks, counts)); }

/// A consumer that was never starved.
Observation fed(NcclSummary reported) {
  Observation seen;
  seen.limit = {.id = "consumer", .sentence = "Training itself limits"};
  seen.nccl = std::move(reported);
  apply_nccl(seen);
  return seen;
}

TEST(FindBehind, NamesTheRankThatOthersWaitFor) {
  const NcclSummary reported = find_behind(standing({50, 50, 49, 50}, 8), 20);
  ASSERT_EQ(reported.behind.size(), 1u);
  EXPECT_EQ(reported.behind[0].rank, 2);
  EXPECT_EQ(reported.behind[0].host, "h2");
  EXPECT_EQ(reported.behind[0].lag, Lag::stopped);
  EXPECT_EQ(reported.behind[0].seconds, 7);
  EXPECT_TRUE(reported.behind[0].decides);
  EXPECT_NE(reported.behind[0].sentence.find("no more than AllReduce 49, 3 ranks have launched more"),
            std::string::npos)
      << reported.behind[0].sentence;
  const Observation seen = fed(reported);
  EXPECT_EQ(seen.limit.id, "stopped_rank");
  EXPECT_NE(seen.limit.sentence.find("rank 2 of 4 (process 102 on h2) is behind or hung"), std::string::npos);
}

TEST(FindBehind, NamesNoneIfAllAreInStep) {
  const NcclSummary reported = find_behind(standing({50, 50, 50, 50}, 8), 20);
  EXPECT_TRUE(reported.behind.empty());
  ASSERT_EQ(reported.facts.size(), 1u);  // that nothing moves is reported all the same
  EXPECT_NE(reported.facts[0].find("4 ranks are at the same operation"), std::string::npos);
  EXPECT_EQ(fed(reported).limit.id, "consumer");
  EXPECT_TRUE(find_behind(answers({{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}}), 20).facts.empty());
}

TEST(FindBehind, NamesNoneForOneAnswerOrAShortStandstill) {
  EXPECT_TRUE(find_behind(standing({50, 49}, 1), 20).behind.empty());
  EXPECT_TRUE(find_behind(standing({50, 49}, 5), 20).behind.empty());  // 4 s
  EXPECT_FALSE(find_behind(standing({50, 49}, 6), 20).behind.empty());
  NcclSeen seldom = standing({50, 49}, 2);
  seldom.looks[1].at_s = 20;
  EXPECT_TRUE(find_behind(seldom, 20).behind.empty());  // two answers may be alike by chance
}

TEST(FindBehind, LooksAtTheLastAnswersAlone) {
  EXPECT_TRUE(
      find_behind(answers({{5, 4}, {5, 4}, {5, 4}, {5, 4}, {5, 4}, {5, 4}, {5, 4}, {6, 6}}), 20).behind.empty());
  NcclSeen ended = standing({50, 49}, 8);
  ended.looks.push_back({.at_s = 8, .communicators = {ranks_at({1, 1}, "b")}});  // "a" is not there any more
  EXPECT_TRUE(find_behind(ended, 20).behind.empty());
}

TEST(FindBehind, DoesNotDecideWhereItTakesLittleOfTheTime) {
  const NcclSummary reported = find_behind(standing({50, 49, 50}, 8), 100);
  ASSERT_EQ(reported.behind.size(), 1u);
  EXPECT_FALSE(reported.behind[0].decides);
  const Observation seen = fed(reported);
  EXPECT_EQ(seen.limit.id, "consumer");
  ASSERT_EQ(seen.limit.proof.size(), 1u);  // the evidence is reported
}

TEST(FindBehind, NamesNoneIfMostAreBehind) {
  const NcclSummary reported = find_behind(standing({49, 49, 50, 49}, 8), 20);
  EXPECT_TRUE(reported.behind.empty());
  ASSERT_EQ(reported.facts.size(), 1u);
  EXPECT_NE(reported.facts[0].find("3 of 4 ranks have launched fewer"), std::string::npos);
  EXPECT_EQ(find_behind(standing({50, 49}, 8), 20).behind.size(), 1u);  // one of two
}

TEST(FindBehind, NamesTheCauseAndNotTheWaitingRank) {
  // Processes 100, 101 in one communicator, where 101 has stopped; 100, 102 in another, where 102 waits for 100.
  NcclSeen seen;
  for (int i = 0; i < 8; ++i) {
    NcclCommunicator other = ranks_at({49, 50}, "b");
    other.ranks[1].host = "h2";
    other.ranks[1].pid = 102;
    seen.looks.push_back({.at_s = static_cast<double>(i), .communicators = {ranks_at({50, 49}), other}});
  }
  const NcclSummary reported = find_behind(seen, 20);
  ASSERT_EQ(reported.behind.size(), 1u);
  EXPECT_EQ(reported.behind[0].pid, 101);
}

TEST(FindBehind, LeavesOutIncompleteOperations) {
  NcclSeen seen = standing({50, 49}, 8);
  for (NcclLook& look : seen.looks) look.communicators[0].ranks[1].running = false;
  EXPECT_TRUE(find_behind(seen, 20).behind.empty());
}

NcclSeen without_rank_1(bool unresponsive, bool others_go_on) {
  NcclSeen seen;
  for (std::uint64_t i = 0; i < 8; ++i) {
    NcclCommunicator one = ranks_at({others_go_on ? i : 5, 0, others_go_on ? i : 5});
    one.ranks.erase(one.ranks.begin() + 1);
    one.missing = {{.rank = 1, .host = "h1", .pid = 101, .unresponsive = unresponsive}};
    seen.looks.push_back({.at_s = static_cast<double>(i), .communicators = {one}});
  }
  return seen;
}

TEST(FindBehind, NamesTheRankThatDoesNotAnswer) {
  const NcclSummary reported = find_behind(without_rank_1(true, false), 20);
  ASSERT_EQ(reported.behind.size(), 1u);
  EXPECT_EQ(reported.behind[0].lag, Lag::silent);
  EXPECT_EQ(reported.behind[0].rank, 1);
  EXPECT_EQ(fed(reported).limit.id, "stopped_rank");
}

TEST(FindBehind, DoesNotBlameARankThatOnlyNcclsServiceMisses) {
  const NcclSummary reported = find_behind(without_rank_1(true, true), 20);
  ASSERT_EQ(reported.behind.size(), 1u);
  EXPECT_FALSE(reported.behind[0].decides);
  EXPECT_NE(reported.behind[0].sentence.find("the others go on"), std::string::npos);
  EXPECT_TRUE(find_behind(without_rank_1(false, false), 20).behind.empty());  // it answered, and is no member
  NcclSeen once = without_rank_1(true, false);
  once.looks.erase(once.looks.begin() + 1, once.looks.end());
  EXPECT_TRUE(find_behind(once, 20).behind.empty());
}

TEST(FindBehind, ReportsRanksLateBeyondChance) {
  const std::vector<Counts> later{{9, 9, 8, 9, 9, 9, 9, 9},
                                  {19, 19, 18, 19, 19, 19, 19, 19},
                                  {29, 29, 28, 29, 29, 29, 29, 29},
                                  {39, 39, 38, 39, 39, 39, 39, 39},
                                  {49, 49, 48, 49, 49, 49, 49, 49}};
  const NcclSummary reported = find_behind(answers(later), 20);
  ASSERT_EQ(reported.behind.size(), 1u);
  EXPECT_EQ(reported.behind[0].rank, 2);
  EXPECT_EQ(reported.behind[0].lag, Lag::later);
  EXPECT_EQ(fed(reported).limit.id, "consumer");                    // launching later may cost nothing
  const std::vector<Counts> few(later.begin(), later.begin() + 4);  // 8 / 8^4 is more than 0.001
  EXPECT_TRUE(find_behind(answers(few), 20).behind.empty());
  std::vector<Counts> another = later;
  another[2] = {29, 28, 29, 29, 29, 29, 29, 29};
  EXPECT_TRUE(find_behind(answers(another), 20).behind.empty());
  EXPECT_TRUE(find_behind(answers({{9, 8}, {19, 18}, {29, 28}, {39, 38}, {49, 48}}), 20).behind.empty());  // a coin
  std::vector<Counts> seldom = later;
  for (std::uint64_t i = 5; i < 12; ++i) seldom.push_back(Counts(8, 10 * i + 9));
  EXPECT_TRUE(find_behind(answers(seldom), 20).behind.empty());
}

NcclSeen timed(const std::vector<double>& took_s, std::size_t operations, double span_s) {
  NcclTimed one{.id = "a", .ranks = {}, .span_s = span_s};
  for (std::size_t i = 0; i < took_s.size(); ++i)
    one.ranks.push_back({.host = "h" + std::to_string(i), .pid = static_cast<int>(100 + i)});
  for (std::size_t i = 0; i < operations; ++i) one.operations.push_back({.took_s = took_s});
  NcclSeen seen;
  seen.timed = {one};
  return seen;
}

TEST(FindBehind, NamesTheRankThatOthersWaitForInOperations) {
  const NcclSummary reported = find_behind(timed({0.030, 0.010, 0.030}, 100, 10), 20);  // 2 of 10 s
  ASSERT_EQ(reported.behind.size(), 1u);
  EXPECT_EQ(reported.behind[0].rank, 1);
  EXPECT_NEAR(reported.behind[0].share, 0.2, 1e-9);
  EXPECT_EQ(fed(reported).limit.id, "slow_rank");
  const NcclSummary unknown = find_behind(timed({0.030, 0.010, 0.030}, 100, 0), 20);  // 2 of 3 s in operations
  ASSERT_EQ(unknown.behind.size(), 1u);
  EXPECT_FALSE(unknown.behind[0].decides);
  EXPECT_EQ(fed(unknown).limit.id, "consumer");
}

TEST(FindBehind, NamesNoneIfOperationsAreAlikeOrFew) {
  EXPECT_TRUE(find_behind(timed({0.030, 0.030, 0.030}, 100, 10), 20).behind.empty());
  EXPECT_TRUE(find_behind(timed({0.030, 0.029, 0.030}, 100, 10), 20).behind.empty());  // 1 % of the time
  EXPECT_TRUE(find_behind(timed({0.030, 0.010, 0.030}, 19, 1), 20).behind.empty());
  NcclSeen turns = timed({0.030, 0.010, 0.030}, 50, 10);
  for (int i = 0; i < 50; ++i) turns.timed[0].operations.push_back({.took_s = {0.010, 0.030, 0.030}});
  EXPECT_TRUE(find_behind(turns, 20).behind.empty());  // now the one, now the other
}

TEST(ApplyNccl, KeepsTheLimitOfTheJobIfOthersWaitForIt) {
  NcclSummary reported = find_behind(standing({50, 50, 49, 50}, 8), 20);
  reported.behind[0].own = true;
  Observation seen;
  seen.limit = {.id = "slow_opens", .sentence = "Opening files limits"};
  seen.nccl = reported;
  apply_nccl(seen);
  EXPECT_EQ(seen.limit.id, "slow_opens");
  EXPECT_EQ(seen.limit.proof.size(), 1u);
  seen.limit.proof.clear();
  seen.nccl.behind[0].own = false;  // nothing moves, whatever is read
  apply_nccl(seen);
  EXPECT_EQ(seen.limit.id, "stopped_rank");
}

const std::string kAnswer = R"({
  "nccl_version": "2.29.1", "cuda_runtime_version": 13000, "timestamp": "2025-12-19 13:06:53", "communicators_count": 1,
  "communicators": [{
      "hash": "0xae94423cfbb2ef4a", "secondary_hash": "0xb7e7:0xb824", "size": 2, "ranks_count": 1,
      "missing_ranks_count": 1,
      "ranks": [{"rank": 0, "host": "172.16.64.245", "pid": 1524344, "cuda_dev": 0, "nvml_dev": 0,
          "status": {"init_state": 0, "async_error": 0, "finalize_called": false, "destroy_flag": false,
                     "abort_flag": false},
          "collective_counts": {"Broadcast": 1, "Reduce": 0, "AllGather": 0, "ReduceScatter": 0, "AllReduce": 7}}],
      "missing_ranks": [{"rank": 1, "host": "172.16.64.245", "pid": 1524345, "cuda_dev": 1, "nvml_dev": 1,
          "status": {"unresponsive": true, "considered_dead": false}}]}],
  "ras": {"collection_time_sec": 0.000, "timeouts_count": 0}
})";

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ReadNcclAnswer, ReadsTheOutputOfNccl) {
  std::string refused;
  const auto look = read_nccl_answer(kAnswer, refused);
  ASSERT_TRUE(look) << refused;
  EXPECT_EQ(look->version, "2.29.1");
  ASSERT_EQ(look->communicators.size(), 1u);
  const NcclCommunicator& all = look->communicators[0];
  EXPECT_EQ(all.size, 2);
  ASSERT_EQ(all.ranks.size(), 1u);
  EXPECT_TRUE(all.ranks[0].running);
  EXPECT_EQ(all.ranks[0].all_launched(), 8u);
  ASSERT_EQ(all.missing.size(), 1u);
  EXPECT_TRUE(all.missing[0].unresponsive);
  const auto ending = read_nccl_answer(changed(kAnswer, "\"destroy_flag\": false", "\"destroy_flag\": true"), refused);
  ASSERT_TRUE(ending);
  EXPECT_FALSE(ending->communicators[0].ranks[0].running);
}

TEST(ReadNcclAnswer, RefusesForeignText) {
  const auto refused = [](const std::string& text) {
    std::string why;
    EXPECT_FALSE(read_nccl_answer(text, why)) << text;
    return why;
  };
  EXPECT_EQ(refused(""), "it is no JSON as NCCL writes it");
  EXPECT_EQ(refused(kAnswer.substr(0, kAnswer.size() / 2)), "it is no JSON as NCCL writes it");
  EXPECT_EQ(refused(std::string(100000, '[')), "it is no JSON as NCCL writes it");
  EXPECT_EQ(refused(changed(kAnswer, "{\"collection_time_sec\": 0.000,", "{\"a\":[[[[[[[[[[]]]]]]]]]],")),
            "it is no JSON as NCCL writes it");
  EXPECT_EQ(refused("[]"), "it has no nccl_version");
  EXPECT_EQ(refused(changed(kAnswer, "\"host\"", "\"hast\"")), "it has no host");
  EXPECT_EQ(refused(changed(kAnswer, "\"AllReduce\": 7", "\"AllReduce\": -7")), "a count is no number");
  EXPECT_EQ(refused(changed(kAnswer, "\"rank\": 1", "\"rank\": 0")), "a rank is twice in its communicator");
  EXPECT_EQ(refused(changed(kAnswer, "\"rank\": 1", "\"rank\": 2")), "a rank is twice in its communicator");
  EXPECT_EQ(refused(changed(kAnswer, "\"size\": 2", "\"size\": 1e99")), "size is no number that it can be");
  EXPECT_EQ(refused(changed(kAnswer, "172.16.64.245", std::string(1000, 'h'))), "host is no short text");
  EXPECT_EQ(refused(changed(kAnswer, "\"unresponsive\": true", "\"unresponsive\": 1")),
            "unresponsive is neither true nor false");
  EXPECT_EQ(refused(changed(kAnswer, "\"Broadcast\": 1", R"("a":1,"b":1,"c":1,"d":1,"e":1)")),
            "it counts too many kinds of operations");
}

TEST(NcclSettings, AreOfTheEnvironment) {
  using namespace std::string_literals;
  const NcclSettings none = nccl_settings("PATH=/bin\0HOME=/root\0"s);
  EXPECT_FALSE(none.any);
  EXPECT_TRUE(none.ras);
  EXPECT_EQ(none.port, 28028);
  EXPECT_EQ(none.inspector_folder, "");
  EXPECT_FALSE(nccl_settings("NCCL_RAS_ENABLE=0\0"s).ras);
  EXPECT_EQ(nccl_settings("NCCL_RAS_ADDR=localhost:12345\0"s).port, 12345);
  EXPECT_EQ(nccl_settings("NCCL_RAS_ADDR=[::1]:99\0"s).port, 99);
  EXPECT_EQ(nccl_settings("NCCL_RAS_ADDR=localhost\0"s).port, 0);
  EXPECT_EQ(nccl_settings("NCCL_RAS_ADDR=localhost:70000\0"s).port, 0);
  EXPECT_EQ(nccl_settings("XNCCL_RAS_ADDR=localhost:1\0"s).port, 28028);
  EXPECT_EQ(nccl_settings("NCCL_INSPECTOR_DUMP_DIR=/logs\0"s).inspector_folder, "");  // it is off
  EXPECT_EQ(nccl_settings("NCCL_INSPECTOR_ENABLE=1\0NCCL_INSPECTOR_DUMP_DIR=/logs\0"s).inspector_folder, "/logs");
  EXPECT_EQ(nccl_settings("NCCL_INSPECTOR_ENABLE=1\0SLURM_JOBID=77\0"s).inspector_folder, "nccl-inspector-77");
  EXPECT_EQ(nccl_settings("NCCL_INSPECTOR_ENABLE=1\0"s).inspector_folder, "nccl-inspector-unknown-jobid");
  const NcclSettings other = nccl_settings("NCCL_INSPECTOR_ENABLE=1\0NCCL_INSPECTOR_PROM_DUMP=1\0"s);
  EXPECT_TRUE(other.inspector_for_prometheus);
  EXPECT_EQ(other.inspector_folder, "");
}

TEST(ListeningAtPort, FindsTheListenerThere) {
  const std::string table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:6D7C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0\n"
      "   1: 0100007F:6D7C 0100007F:BEEF 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0\n"
      "   2: 00000000:6D7C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0\n"
      "   3: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4714 1 0 100 0\n";
  const std::vector<Listening> found = listening_at_port(table, 28028);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].at.text(), "127.0.0.1:28028");
  EXPECT_EQ(found[0].inode, "4711");
  EXPECT_EQ(found[1].at.text(), "127.0.0.1:28028");  // everywhere: the own host will do
  const std::vector<Listening> six = listening_at_port(
      "   0: 00000000000000000000000001000000:6D7C 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 9 1\n",
      28028);
  ASSERT_EQ(six.size(), 1u);
  EXPECT_EQ(six[0].at.text(), "[::1]:28028");
  EXPECT_TRUE(listening_at_port("nothing:6D7C of the kind 0A\n0: XYZ:6D7C 0 0A 0 0 0 0 0 9\n", 28028).empty());
}

/// Somebody at a port of this host, who does `each` with everybody that connects.
class Server {
 public:
  explicit Server(std::function<void(int fd)> each) : each_(std::move(each)) {
    int error = 0;
    listener_ = system::listening_at(*system::SocketAddress::numeric("127.0.0.1", 0), error);
    thread_ = std::thread([this] {
      while (!over_)
        if (system::wait_readable(listener_.get(), Deadline(0.05)))
          if (const system::Accepted one = system::accepted(listener_.get())) each_(one.socket.get());
    });
  }
  ~Server() {
    over_ = true;
    thread_.join();
  }
  system::SocketAddress at() const { return system::SocketAddress::of_socket(listener_.get()); }
  bool over() const { return over_; }

 private:
  std::function<void(int)> each_;
  system::UniqueFd listener_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

/// A line of what it was sent; "" at the end.
std::string next_line(int fd) {
  std::string line;
  char one = 0;
  while (system::receive_all(fd, {&one, 1}, Deadline(120)) && one != '\n') line += one;
  return line;
}

/// Speaks as NCCL's service does, with `greeting` and another word for SET FORMAT.
std::function<void(int)> speaker(std::string greeting, std::string format, std::string answer) {
  return [=](int fd) {
    const Deadline guard(120);
    for (std::string line = next_line(fd); !line.empty(); line = next_line(fd)) {
      std::string word = "ERROR: Unknown command " + line + "\n";
      if (line.starts_with("CLIENT PROTOCOL ")) word = greeting;
      if (line.starts_with("TIMEOUT ")) word = "OK\n";
      if (line.starts_with("SET FORMAT ")) word = format;
      if (line == "STATUS") word = answer;
      system::send_all(fd, word, guard);
      if (line == "STATUS") return;
    }
  };
}

NcclReply asked(const std::function<void(int)>& each, double patience_s = 120) {
  const Server server(each);
  return ask_nccl(
      server.at(), [] { return false; }, patience_s);
}

TEST(AskNccl, GetsTheAnswerWhole) {
  const std::string large(3 << 20, 'x');
  const NcclReply reply = asked(speaker("SERVER PROTOCOL 2\n", "OK\n", large));
  ASSERT_TRUE(reply.json) << reply.refused;
  EXPECT_EQ(*reply.json, large);
}

TEST(AskNccl, RefusesOtherServers) {
  EXPECT_EQ(asked(speaker("SERVER PROTOCOL 2\n", "ERROR: Unknown command set format json\n", "")).refused,
            "it answers in text alone, as before NCCL 2.28.7: 'ncclras -v' prints that");
  EXPECT_EQ(asked(speaker("SERVER PROTOCOL 3\n", "OK\n", "")).refused,
            "it speaks version 3 of its protocol, and headrace version 2");
  EXPECT_EQ(asked(speaker("SERVER PROTOCOL 2x\n", "OK\n", "")).refused,
            "it speaks version 2x of its protocol, and headrace version 2");
  EXPECT_EQ(asked(speaker("SSH-2.0-OpenSSH\n", "OK\n", "")).refused, "it is no RAS service of NCCL");
  EXPECT_EQ(asked(speaker("SERVER PROTOCOL 2\n", "WHAT\n", "")).refused, "it did not answer as NCCL does");
  EXPECT_EQ(asked([](int) {}).refused, "it is no RAS service of NCCL");  // closes
  EXPECT_FALSE(asked([](int) {}).silent);
}

TEST(AskNccl, RefusesAnAnswerWithoutEnd) {
  const auto endless = [](std::string_view first) {
    return [first](int fd) {
      const std::string much(1 << 16, '\x01');
      next_line(fd);
      system::send_all(fd, first, Deadline(120));
      while (system::send_all(fd, much, Deadline(120))) {
      }
    };
  };
  EXPECT_EQ(asked(endless("")).refused, "it is no RAS service of NCCL");
  EXPECT_EQ(asked(endless("SERVER PROTOCOL 2\nOK\nOK\n")).refused, "its answer is longer than 32 MiB");
}

TEST(AskNccl, DoesNotWaitForASilentRank) {
  const auto mute = [](int fd) {
    char some[64];
    while (system::receive_some(fd, some)) system::wait_readable(fd, Deadline(0.05));
  };
  const NcclReply late = asked(mute, 0.2);
  EXPECT_TRUE(late.silent);
  EXPECT_EQ(late.refused, "it did not answer in time");
  const Server server(mute);
  EXPECT_TRUE(ask_nccl(
                  server.at(), [] { return true; }, 120)
                  .silent);  // nobody needs it any more
  EXPECT_TRUE(ask_nccl(*system::SocketAddress::numeric("127.0.0.1", 1), [] { return false; }).silent);  // nobody there
}

std::string inspector_line(int rank, int number, double took_us, double written_us = 5e6,
                           const std::string& kind = "AllReduce", int ranks = 2) {
  return R"({"header":{"id":"0x7f","comm_name":"unknown","rank":)" + std::to_string(rank) + R"(,"n_ranks":)" +
         std::to_string(ranks) +
         R"(,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0","dump_timestamp_us":)" +
         std::to_string(static_cast<long>(written_us)) + R"(,"hostname":"h","pid":)" + std::to_string(100 + rank) +
         R"(},"coll_perf":{"coll":")" + kind + R"(","coll_sn":)" + std::to_string(number) +
         R"(,"coll_msg_size_bytes":8192,"coll_exec_time_us":)" + std::to_string(static_cast<long>(took_us)) + "}}";
}

std::vector<InspectorLine> parsed(const std::vector<std::string>& lines) {
  std::vector<InspectorLine> all;
  for (const std::string& line : lines)
    if (InspectorLine one; parse_inspector_line(line, one)) all.push_back(one);
  return all;
}

TEST(Inspector, TakesOperationsThatAllRanksLeaveTogether) {
  InspectorLine one;
  ASSERT_TRUE(parse_inspector_line(inspector_line(1, 7, 250), one));
  EXPECT_EQ(one.rank, 1);
  EXPECT_EQ(one.number, 7u);
  EXPECT_EQ(one.pid, 101);
  EXPECT_NEAR(one.took_s, 250e-6, 1e-12);
  EXPECT_NEAR(one.written_s, 5, 1e-9);
  EXPECT_FALSE(parse_inspector_line(inspector_line(1, 7, 250, 5e6, "Broadcast"), one));
  EXPECT_FALSE(parse_inspector_line(inspector_line(2, 7, 250), one));  // of two
  EXPECT_FALSE(parse_inspector_line("{\"header\": {}, \"metadata\": [], \"coll_perf\": 7}", one));
  EXPECT_FALSE(parse_inspector_line("", one));
  EXPECT_FALSE(parse_inspector_line("\x01\x02", one));
}

TEST(Inspector, JoinsTheRanksOfTheJobsCommunicators) {
  const auto gathered = [](const std::vector<std::string>& lines, const std::set<int>& own, double since_s = 0) {
    NcclSeen seen;
    gather_inspector(parsed(lines), own, since_s, seen);
    return seen;
  };
  const std::vector<std::string> both{inspector_line(0, 1, 30), inspector_line(1, 1, 10), inspector_line(0, 2, 30)};
  const NcclSeen seen = gathered(both, {101});
  ASSERT_EQ(seen.timed.size(), 1u);
  ASSERT_EQ(seen.timed[0].operations.size(), 1u);  // of the second one rank is missing
  EXPECT_NEAR(seen.timed[0].operations[0].took_s[1], 10e-6, 1e-12);
  EXPECT_TRUE(seen.timed[0].ranks[1].own);
  EXPECT_EQ(seen.timed[0].span_s, 0);                   // written in one go
  EXPECT_TRUE(gathered(both, {7}).timed.empty());       // another job's
  EXPECT_TRUE(gathered(both, {101}, 6).timed.empty());  // from before
  const NcclSeen half = gathered({inspector_line(0, 1, 30)}, {100});
  EXPECT_TRUE(half.timed.empty());
  ASSERT_EQ(half.facts.size(), 1u);
  EXPECT_NE(half.facts[0].find("1 of 2 ranks"), std::string::npos);
}

TEST(Inspector, CountsTimeFromWhereEachRankHasWritten) {
  NcclSeen seen;
  gather_inspector(parsed({inspector_line(0, 1, 30, 1e6), inspector_line(1, 1, 30, 2e6),  // may be of long before
                           inspector_line(0, 2, 30, 4e6), inspector_line(1, 2, 30, 5e6)}),
                   {100}, 0, seen);
  ASSERT_EQ(seen.timed.size(), 1u);
  EXPECT_NEAR(seen.timed[0].span_s, 3, 1e-9);
  EXPECT_EQ(seen.timed[0].operations.size(), 1u);
}

}  // namespace
}  // namespace headrace::observe
