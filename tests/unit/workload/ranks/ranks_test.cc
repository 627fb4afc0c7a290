#include "harness/record/ranks/ranks.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "harness/base/clock.h"
#include "harness/base/system/socket.h"
#include "harness/machine/limits.h"
#include "harness/record/ranks/wire.h"
#include "harness/workload/ranks/frame.h"
#include "harness/workload/ranks/messages.h"
#include "tests/unit/thread_ranks.h"

namespace headrace::ranks_test {
namespace {

const std::vector<std::string> kFour{"node1", "node2", "node2", "node3"};

std::string failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const RanksError& e) {
    return e.what();
  }
  return "";
}

TEST(Ranks, AreNumberedByNode) {
  const auto places = ranks::places_of({"b", "a", "b", "c", "a"});
  EXPECT_EQ(places[0].node, 0u);
  EXPECT_EQ(places[1].node, 1u);
  EXPECT_EQ(places[2].node, 0u);
  EXPECT_EQ(places[2].local_rank, 1u);
  EXPECT_EQ(places[3].node, 2u);
  EXPECT_EQ(places[4].local_rank, 1u);
}

TEST(Ranks, AloneSpeaksWithItself) {
  const auto solo = make_solo_ranks();
  EXPECT_EQ(solo->size(), 1u);
  EXPECT_EQ(solo->nodes(), 1u);
  EXPECT_EQ(solo->all_gather("test", "x", 1), std::vector<std::string>{"x"});
  EXPECT_EQ(solo->broadcast("test", 0, "y", 1), "y");
  solo->barrier("test", 1);
}

TEST(Ranks, GatherMessages) {
  on_ranks(kFour, 10, [](std::unique_ptr<Ranks> ranks) {
    const std::string own(100'000 * ranks->rank(), static_cast<char>('a' + ranks->rank()));
    for (int round = 0; round < 20; ++round) {
      const auto all = ranks->all_gather("test", own, 10);
      ASSERT_EQ(all.size(), 4u);
      for (unsigned r = 0; r < 4; ++r) EXPECT_EQ(all[r], std::string(100'000 * r, static_cast<char>('a' + r)));
    }
    EXPECT_EQ(ranks->nodes(), 3u);
    EXPECT_EQ(ranks->who(3), "rank 3 (node3)");
  });
}

TEST(Ranks, BroadcastAndRootGather) {
  on_ranks(kFour, 10, [](std::unique_ptr<Ranks> ranks) {
    EXPECT_EQ(ranks->broadcast("test", 2, "from " + std::to_string(ranks->rank()), 10), "from 2");
    const auto all = ranks->gather("test", ranks->everyone(), std::to_string(ranks->rank()), 10, 1);
    const std::vector<std::string> expected{"0", "1", "2", "3"};
    EXPECT_EQ(all, ranks->rank() == 1 ? expected : std::vector<std::string>());
  });
}

TEST(Ranks, PairsExchangeWithoutTheOthers) {
  on_ranks(kFour, 10, [](std::unique_ptr<Ranks> ranks) {
    const unsigned peer = 3 - ranks->rank();
    const unsigned rounds = ranks->rank() % 3 == 0 ? 2 : 3;  // 0 and 3 twice, 1 and 2 three times
    for (unsigned round = 0; round < rounds; ++round) {
      const auto word = [&](unsigned r) { return std::to_string(r) + "/" + std::to_string(round); };
      EXPECT_EQ(ranks->exchange("test", peer, word(ranks->rank()), 10), word(peer));
    }
  });
}

TEST(Ranks, NameLateRanks) {
  std::atomic<bool> done{false};
  on_ranks(kFour, 10, [&](std::unique_ptr<Ranks> ranks) {
    if (ranks->rank() == 2) {
      while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const std::string why = failure_of([&] { ranks->barrier("connect", 5); });
    if (ranks->rank() != 2) {
      EXPECT_EQ(why, "connect: no word within 5 s from rank 2 (node2)");
    }
    if (ranks->rank() == 0) done = true;
    EXPECT_EQ(ranks->lost(), "");
  });
}

TEST(Ranks, NameLeavingRanks) {
  on_ranks(kFour, 10, [](std::unique_ptr<Ranks> ranks) {
    if (ranks->rank() == 1) return;
    EXPECT_EQ(failure_of([&] { ranks->barrier("measure", 10); }), "measure: rank 1 (node2) has left the run");
    if (ranks->rank() != 0) {
      EXPECT_EQ(ranks->exchange("still", 5 - ranks->rank(), "x", 10), "x");  // others go on
    }
  });
}

/// Two exchanges are never taken for one.
TEST(Ranks, ReportRanksAtAnotherStep) {
  on_ranks({"node1", "node2"}, 10, [](std::unique_ptr<Ranks> ranks) {
    const bool first = ranks->rank() == 0;
    const std::string why = failure_of([&] { ranks->barrier(first ? "name the groups" : "preparing", 10); });
    EXPECT_NE(why.find("rank 0 (node1) is at 'name the groups'"), std::string::npos) << why;
    EXPECT_NE(why.find("rank 1 (node2) is at 'preparing'"), std::string::npos) << why;
  });
}

/// Who comes last learns of the one who was missing, not of those who gave up on it meanwhile.
TEST(Ranks, NameALeavingRankToThoseAfterTheFailure) {
  std::atomic<int> gave_up{0};
  on_ranks(kFour, 10, [&](std::unique_ptr<Ranks> ranks) {
    const unsigned rank = ranks->rank();
    if (rank == 1) return;
    while (rank == 3 && gave_up < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(failure_of([&] { ranks->barrier("measure", 10); }), "measure: rank 1 (node2) has left the run");
    ranks.reset();
    ++gave_up;
  });
}

/// One whose process is killed: its socket closes, and it says nothing.
TEST(Ranks, NameRanksThatEndedSilently) {
  const auto places = ranks::places_of({"node1", "node2"});
  ranks::Hub hub(places, 10);
  const int before = ::dup(0);
  auto one = ranks::join(hub.address(), 1, places, 10, 10);
  auto zero = ranks::join(hub.address(), 0, places, 10, 10);
  for (int fd = before; fd < before + 64; ++fd) {  // rank 1's socket: the one connected first
    sockaddr_storage name;
    socklen_t size = sizeof name;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&name), &size) == 0) {
      ::shutdown(fd, SHUT_RDWR);
      break;
    }
  }
  const std::uint64_t begin = now_ns();
  EXPECT_EQ(failure_of([&] { zero->barrier("measure", 30); }), "measure: rank 1 (node2) ended without a word");
  EXPECT_LT(now_ns() - begin, 20'000'000'000u);
  EXPECT_EQ(zero->lost(), "rank 1 (node2) ended without a word");
  ::close(before);
}

TEST(Ranks, ReportWhenTheHubEnded) {
  const auto places = ranks::places_of({"node1", "node2"});
  auto hub = std::make_unique<ranks::Hub>(places, 10);
  const auto one = ranks::join(hub->address(), 1, places, 10, 10);
  hub.reset();
  EXPECT_NE(failure_of([&] { one->barrier("measure", 30); }).find("rank 0 (node1)"), std::string::npos);
  while (one->lost().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST(Ranks, ReportTheErrorWithoutTheHub) {
  const auto places = ranks::places_of({"node1", "node2"});
  ranks::HubAddress nobody;
  {
    ranks::Hub hub(places, 10);
    nobody = hub.address();
  }
  nobody.addresses = {"127.0.0.1"};
  const std::string why = failure_of([&] { ranks::join(nobody, 1, places, 10, 0.2); });
  EXPECT_NE(why.find("rank 1 (node2) cannot reach rank 0 (node1) within 0.2 s; 127.0.0.1 port "), std::string::npos)
      << why;
  EXPECT_NE(why.find("firewall"), std::string::npos);
}

TEST(Ranks, StrangersAreNotLetIn) {
  const auto places = ranks::places_of({"node1", "node2"});
  ranks::Hub hub(places, 10);
  ranks::HubAddress forged = hub.address();
  forged.addresses = {"127.0.0.1"};
  forged.token[0] = static_cast<char>(forged.token[0] + 1);
  EXPECT_NE(failure_of([&] { ranks::join(forged, 1, places, 10, 0.1); }).find("not rank 0 of this run"),
            std::string::npos);
  EXPECT_NE(ranks::join(hub.address(), 1, places, 10, 5), nullptr);
}

/// A rank without a thread: what it says and hears, frame by frame.
struct BareMember {
  ranks::Connection connection;
  BareMember(const ranks::HubAddress& hub, unsigned rank) {
    const auto to = system::SocketAddress::numeric("127.0.0.1", hub.port);
    connection = ranks::Connection(system::connected(*to, Deadline(120)).socket);
    connection.write(ranks::Kind::hello, wire::Writer().put(hub.token).put(rank).bytes(), 120);
  }
  void say(const ranks::Contribution& c) { connection.write(ranks::Kind::gather, c.packed(), 120); }
  /// The bytes of the next frame of this kind; "" = the connection ended before.
  std::string hear(ranks::Kind kind) {
    for (const Deadline guard(120);;) {
      while (const auto frame = connection.next())
        if (frame->kind == kind) return frame->bytes;
      if (!system::wait_readable(connection.fd(), guard) || !connection.read_some()) return "";
    }
  }
};

/// Two notice the death of the third by their own connections, give up at different steps, and the hub hears of it last.
TEST(Hub, NamesTheDeadRankAndNotTheStepsAtWhichTheOthersGaveUp) {
  const auto places = ranks::places_of({"node1", "node2", "node3"});
  const ranks::Hub hub(places, 600);
  std::vector<BareMember> members;
  for (unsigned r = 0; r < 3; ++r) members.emplace_back(hub.address(), r);
  for (BareMember& member : members) member.hear(ranks::Kind::welcome);
  ranks::Contribution step;
  step.group = {0, 1, 2};
  step.timeout_s = 300;
  step.what = "the end of a phase";
  members[0].say(step);
  step.what = "the next step";
  members[1].say(step);
  members[2].connection.close();
  for (unsigned r = 0; r < 2; ++r) {
    const std::string bytes = members[r].hear(ranks::Kind::failure);
    wire::Reader in(bytes);
    EXPECT_EQ(in.get<std::string>(), step.key());
    const auto why = in.get<std::string>();
    EXPECT_NE(why.find("rank 2 (node3) ended without a word"), std::string::npos) << why;
  }
}

std::vector<RankPlace> places_of_hosts(unsigned ranks, unsigned per_host) {
  std::vector<std::string> hosts;
  for (unsigned r = 0; r < ranks; ++r) hosts.push_back("node" + std::to_string(r / per_host));
  return ranks::places_of(hosts);
}

TEST(Hub, TakesFourThousandRanks) {
  constexpr unsigned kRanks = 4096, kSilent = 3996;
  if (const auto room = system::make_room_for_files(2 * kRanks + 200); room < 2 * kRanks + 200)
    GTEST_SKIP() << "only " << room << " files may be open";
  const ranks::Hub hub(places_of_hosts(kRanks, 8), 600);
  std::vector<BareMember> members;
  for (unsigned r = 0; r < kRanks; ++r) members.emplace_back(hub.address(), r);
  for (BareMember& member : members) member.hear(ranks::Kind::welcome);
  ranks::Contribution all;
  for (unsigned r = 0; r < kRanks; ++r) all.group.push_back(r);
  all.timeout_s = 300;
  all.what = "names";
  for (unsigned r = 0; r < kRanks; ++r) {
    all.own = std::to_string(r);
    members[r].say(all);
  }
  EXPECT_LT(all.packed().size(), 100u) << "the group of all is named in a few bytes, not by each rank";
  const std::string answer = members[0].hear(ranks::Kind::result);
  wire::Reader of_answer(answer);
  ASSERT_EQ(of_answer.get<std::string>(), all.key());
  std::vector<std::string> said;
  ranks::get_said(of_answer, said);
  ASSERT_EQ(said.size(), kRanks);
  for (unsigned r = 0; r < kRanks; ++r) ASSERT_EQ(said[r], std::to_string(r));
  for (unsigned r = 1; r < kRanks; ++r) ASSERT_TRUE(members[r].hear(ranks::Kind::result) == answer) << r;
  // A hundred come to the next exchange.
  all.number = 1;
  all.timeout_s = 5;  // from the first one's word on: a busy machine takes its time for the others'
  for (unsigned r = kSilent; r < kRanks; ++r) members[r].say(all);
  const std::string bytes = members[kRanks - 1].hear(ranks::Kind::failure);
  wire::Reader in(bytes);
  EXPECT_EQ(in.get<std::string>(), all.key());
  EXPECT_EQ(in.get<std::string>(),
            "names: no word within 5 s from rank 0 (node0), rank 1 (node0), rank 2 (node0), rank 3 (node0), "
            "rank 4 (node0), rank 5 (node0), rank 6 (node0), rank 7 (node0) and 3988 more");
}

/// In a process of its own: one hundred ranks where `soft` files may be open, and at most `hard`.
void a_hundred_ranks(rlim_t soft, rlim_t hard) {
  const rlimit limit{soft, hard};
  ::setrlimit(RLIMIT_NOFILE, &limit);
  try {
    const ranks::Hub hub(places_of_hosts(100, 8), 600);
    std::vector<BareMember> members;
    for (unsigned r = 0; r < 100; ++r) members.emplace_back(hub.address(), r);
    for (BareMember& member : members) member.hear(ranks::Kind::welcome);
    std::fprintf(stderr, "all are in\n");
  } catch (const RunError& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  std::_Exit(0);
}

TEST(Hub, RaisesTheLimitOfOpenFilesOrReportsThatItIsTooLow) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // The members' own sockets are in this process, too.
  EXPECT_EXIT(a_hundred_ranks(64, 64), ::testing::ExitedWithCode(0),
              "rank 0 \\(node0\\) needs 164 more open files, .* may open [0-9]+: raise the limit on that host");
  if (system::limit_of(RLIMIT_NOFILE).hard >= 400) {
    EXPECT_EXIT(a_hundred_ranks(220, 400), ::testing::ExitedWithCode(0), "all are in");
  }
}

TEST(Hub, ReportsRunningOutOfFiles) {
  const auto places = ranks::places_of({"node1", "node2"});
  ranks::Hub hub(places, 10);
  ranks::HubAddress address = hub.address();
  address.addresses = {"127.0.0.1"};
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int lowest = ::dup(0);
  ::close(lowest);
  const rlimit one_more{static_cast<rlim_t>(lowest) + 1, before.rlim_max};  // for the member's own socket
  ::setrlimit(RLIMIT_NOFILE, &one_more);
  const std::string why = failure_of([&] { ranks::join(address, 1, places, 10, 0.2); });
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(why,
            "rank 1 (node2) cannot join: rank 0 (node1) has no open file left for another connection: raise the limit "
            "(ulimit -n)");
  EXPECT_NE(ranks::join(address, 1, places, 10, 120), nullptr) << "and lets it in when there is one again";
}

TEST(Contributions, NameAGroupByItsRuns) {
  ranks::Contribution c;
  c.group = {0, 1, 2, 5, 7, 8};
  c.own = "own";
  EXPECT_EQ(ranks::Contribution::unpacked(c.packed()).group, c.group);
  for (const std::vector<unsigned>& runs :
       {std::vector<unsigned>{0}, {3, 2}, {0, 1, 2, 3}, {4, 5, 0, 1}, {0, 4'000'000'000}}) {
    const std::string bytes = wire::Writer().put(runs).bytes();
    wire::Reader in(bytes);
    EXPECT_THROW(ranks::get_group(in, c.group), RunError);
  }
}

TEST(Answers, AreAsShortAsTheirContent) {
  const auto round_trip = [](const std::vector<std::string>& said, std::size_t most) {
    wire::Writer out;
    ranks::put_said(out, said);
    EXPECT_LE(out.bytes().size(), most);
    wire::Reader in(out.bytes());
    std::vector<std::string> back;
    ranks::get_said(in, back);
    EXPECT_EQ(back, said);
  };
  round_trip({}, 16);
  round_trip(std::vector<std::string>(4096, "d"), 32);  // a step that all have done
  round_trip({"a", "a", "", "b"}, 64);
  for (const auto& times : {std::vector<std::uint32_t>{0}, {2'000'000}, {1, 1}}) {
    const std::string bytes = wire::Writer().put(times).put(std::vector<std::string>(times.size(), "x")).bytes();
    wire::Reader in(bytes);
    std::vector<std::string> said;
    EXPECT_THROW(ranks::get_said(in, said), RunError);
  }
}

TEST(Wire, ReturnsStoredValues) {
  const std::string bytes =
      wire::Writer().put(7u).put(-1.5).put(std::string("a\0b", 3)).put(std::vector<std::uint64_t>{1, 2}).bytes();
  wire::Reader in(bytes);
  EXPECT_EQ(in.get<unsigned>(), 7u);
  EXPECT_EQ(in.get<double>(), -1.5);
  EXPECT_EQ(in.get<std::string>(), std::string("a\0b", 3));
  EXPECT_EQ(in.get<std::vector<std::uint64_t>>(), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_TRUE(in.empty());
  EXPECT_THROW(in.get<unsigned>(), RunError);
}

TEST(Wire, RefusesLengthsThatCannotBe) {
  const std::string bytes = wire::Writer().put(std::uint64_t{1} << 60).bytes();
  wire::Reader text(bytes), numbers(bytes);
  EXPECT_THROW(text.get<std::string>(), RunError);
  EXPECT_THROW(numbers.get<std::vector<double>>(), RunError);
}

}  // namespace
}  // namespace headrace::ranks_test
