#include "harness/observe/nccl/nccl_behind.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "harness/base/units.h"

namespace headrace::observe {
namespace {

constexpr std::size_t kStandstillLooks = 3;
constexpr double kLongStandstill = 5;  // [s]: ranks may be apart for as long as a step has between operations
constexpr double kDecides = 0.1;       // of the time: less does not limit
constexpr std::size_t kFewestApart = 3;
constexpr double kChance = 0.001;  // that a rank of any is behind in all looks, where each may be
constexpr std::size_t kFewestOperations = 20;
constexpr double kMostOfWaiting = 0.6;     // of all that ranks wait for each other: it is for this one
constexpr double kMuchOfOperations = 0.3;  // of the time in operations, where more is not known
constexpr std::size_t kMostNamed = 8;

using Where = std::pair<std::string, int>;  // host and process

/// A communicator in the answers, the newest last.
struct Course {
  std::vector<const NcclCommunicator*> looks;
  std::vector<double> at_s;
  const NcclCommunicator& last() const { return *looks.back(); }
};

std::map<std::string, Course> courses_of(const NcclSeen& seen) {
  std::map<std::string, Course> all;
  for (const NcclLook& look : seen.looks)
    for (const NcclCommunicator& one : look.communicators) {
      all[one.id].looks.push_back(&one);
      all[one.id].at_s.push_back(look.at_s);
    }
  // One that is gone is no evidence of the present state.
  if (!seen.looks.empty())
    std::erase_if(all, [&](const auto& one) { return one.second.at_s.back() < seen.looks.back().at_s; });
  return all;
}

std::uint64_t most_launched(const NcclCommunicator& one) {
  std::uint64_t most = 0;
  for (const NcclRank& rank : one.ranks) most = std::max(most, rank.all_launched());
  return most;
}

bool all_run(const NcclCommunicator& one) {
  return std::all_of(one.ranks.begin(), one.ranks.end(), [](const NcclRank& rank) { return rank.running; });
}

std::vector<const NcclRank*> behind_in(const NcclCommunicator& one) {
  const std::uint64_t most = most_launched(one);
  std::vector<const NcclRank*> behind;
  for (const NcclRank& rank : one.ranks)
    if (rank.all_launched() < most) behind.push_back(&rank);
  return behind;
}

bool same_counts(const NcclCommunicator& a, const NcclCommunicator& b) {
  return std::equal(
      a.ranks.begin(), a.ranks.end(), b.ranks.begin(), b.ranks.end(),
      [](const NcclRank& x, const NcclRank& y) { return x.rank == y.rank && x.all_launched() == y.all_launched(); });
}

/// For how long no rank of it has launched anything, up to the last answer. 0: too few answers show it.
double standstill_s(const Course& course) {
  std::size_t first = course.looks.size() - 1;
  while (first > 0 && same_counts(*course.looks[first - 1], course.last())) --first;
  return course.looks.size() - first < kStandstillLooks ? 0 : course.at_s.back() - course.at_s[first];
}

std::string named(int rank, int size, const std::string& host, int pid) {
  return fmt::format("rank {} of {} (process {} on {})", rank, size, pid, host);
}

/// "AllReduce 6649": the kind that it has launched fewer of than others, and how many.
std::string short_of(const NcclCommunicator& all, const NcclRank& rank) {
  for (std::size_t kind = 0; kind < all.operations.size(); ++kind) {
    std::uint64_t most = 0;
    for (const NcclRank& other : all.ranks) most = std::max(most, other.launched[kind]);
    if (rank.launched[kind] < most) return fmt::format("{} {}", all.operations[kind], rank.launched[kind]);
  }
  return "";
}

/// The ranks that did not answer, twice.
void find_silent(const std::map<std::string, Course>& courses, std::vector<RankBehind>& found) {
  for (const auto& [id, course] : courses) {
    if (course.looks.size() < 2) continue;
    const NcclCommunicator& before = *course.looks[course.looks.size() - 2];
    for (const NcclMissing& one : course.last().missing) {
      const bool twice = std::any_of(before.missing.begin(), before.missing.end(), [&one](const NcclMissing& earlier) {
        return earlier.rank == one.rank && earlier.unresponsive;
      });
      if (!one.unresponsive || !twice) continue;
      double since_s = course.at_s.back();
      for (std::size_t i = course.looks.size(); i-- > 0;) {
        const auto& missing = course.looks[i]->missing;
        if (std::none_of(missing.begin(), missing.end(),
                         [&one](const NcclMissing& m) { return m.rank == one.rank && m.unresponsive; }))
          break;
        since_s = course.at_s[i];
      }
      // Where the others continue, its connection is gone, and not the rank.
      const double still_s = std::min(course.at_s.back() - since_s, standstill_s(course));
      found.push_back(
          {.rank = one.rank,
           .size = course.last().size,
           .host = one.host,
           .pid = one.pid,
           .own = one.own,
           .lag = Lag::silent,
           .seconds = still_s,
           .sentence = fmt::format(
               "{} does not answer NCCL's RAS service{}{}", named(one.rank, course.last().size, one.host, one.pid),
               one.dead ? ", which considers it dead" : "",
               still_s > 0 ? fmt::format(", and no rank launched any for {}", format_duration(still_s))
                           : "; the others go on")});
    }
  }
}

/// The ranks that have not launched an operation that others have, while none launches anything.
void find_stopped(const std::map<std::string, Course>& courses, double elapsed_s, std::vector<RankBehind>& found,
                  std::vector<std::string>& facts) {
  struct Stopped {
    const Course* course;
    double seconds;
    std::vector<const NcclRank*> behind;
  };
  std::vector<Stopped> all;
  std::set<Where> waiting;  // has launched one that others have not
  for (const auto& [id, course] : courses) {
    const double seconds = standstill_s(course);
    const NcclCommunicator& last = course.last();
    if (seconds < kLongStandstill || !all_run(last)) continue;
    const std::vector<const NcclRank*> behind = behind_in(last);
    if (behind.empty()) {
      if (last.missing.empty() && seconds >= kDecides * elapsed_s && most_launched(last) > 0)
        facts.push_back(fmt::format(
            "{} ranks are at the same operation, and none launched another one for {}: all compute, or wait "
            "in it",
            last.ranks.size(), format_duration(seconds)));
      continue;
    }
    if (behind.size() * 2 > last.ranks.size()) {
      facts.push_back(
          fmt::format("{} of {} ranks have launched fewer operations than the others, and none launched any "
                      "for {}: too many to name one",
                      behind.size(), last.ranks.size(), format_duration(seconds)));
      continue;
    }
    for (const NcclRank& rank : last.ranks)
      if (rank.all_launched() == most_launched(last)) waiting.insert({rank.host, rank.pid});
    all.push_back({&course, seconds, behind});
  }
  // One that waits in another communicator is behind here for that reason.
  const auto is_cause = [&](const NcclRank* one) { return !waiting.contains({one->host, one->pid}); };
  const bool some = std::any_of(all.begin(), all.end(), [&](const Stopped& one) {
    return std::any_of(one.behind.begin(), one.behind.end(), is_cause);
  });
  for (const Stopped& one : all)
    for (const NcclRank* rank : one.behind) {
      if (some && !is_cause(rank)) continue;
      const NcclCommunicator& last = one.course->last();
      const std::string what = short_of(last, *rank);
      found.push_back(
          {.rank = rank->rank,
           .size = last.size,
           .host = rank->host,
           .pid = rank->pid,
           .own = rank->own,
           .lag = Lag::stopped,
           .seconds = one.seconds,
           .sentence = fmt::format("{} is behind or hung: it has launched {}, {} ranks have launched more, and no rank "
                                   "launched any for {}",
                                   named(rank->rank, last.size, rank->host, rank->pid),
                                   what.empty() ? "fewer operations" : "no more than " + what,
                                   last.ranks.size() - one.behind.size(), format_duration(one.seconds))});
    }
}

/// The ranks that are behind in all answers between which operations continued, more often than by chance.
void find_later(const std::map<std::string, Course>& courses, std::vector<RankBehind>& found) {
  for (const auto& [id, course] : courses) {
    std::map<int, std::size_t> times;
    std::map<int, const NcclRank*> who;
    double chance = static_cast<double>(course.last().size);
    std::size_t apart = 0, moved = 0;
    std::uint64_t reached = 0;
    for (const NcclCommunicator* look : course.looks) {
      const std::uint64_t most = most_launched(*look);
      if (most <= reached || !all_run(*look)) continue;
      reached = most;
      ++moved;
      const std::vector<const NcclRank*> behind = behind_in(*look);
      if (behind.empty()) continue;
      ++apart;
      chance *= static_cast<double>(behind.size()) / static_cast<double>(look->ranks.size());
      for (const NcclRank* rank : behind) {
        ++times[rank->rank];
        who[rank->rank] = rank;
      }
    }
    if (apart < kFewestApart || apart * 2 < moved || chance > kChance) continue;
    for (const auto& [rank, count] : times)
      if (count == apart)
        found.push_back(
            {.rank = rank,
             .size = course.last().size,
             .host = who[rank]->host,
             .pid = who[rank]->pid,
             .own = who[rank]->own,
             .lag = Lag::later,
             .sentence = fmt::format("{} launches its operations after the others: it was behind in all {} answers of "
                                     "NCCL in which ranks were apart, of {}",
                                     named(rank, course.last().size, who[rank]->host, who[rank]->pid), apart, moved)});
  }
}

/// The rank that comes last is in an operation for the shortest time. Others wait in it for as much longer.
void find_waited_for(const std::vector<NcclTimed>& timed, std::vector<RankBehind>& found) {
  for (const NcclTimed& one : timed) {
    if (one.operations.size() < kFewestOperations) continue;
    std::vector<double> waited(one.ranks.size());
    double all_waited = 0, all_s = 0;
    for (const NcclOperation& operation : one.operations) {
      const auto last = std::min_element(operation.took_s.begin(), operation.took_s.end());
      std::vector<double> others(operation.took_s.begin(), last);
      others.insert(others.end(), last + 1, operation.took_s.end());
      const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
      std::nth_element(others.begin(), middle, others.end());
      waited[static_cast<std::size_t>(last - operation.took_s.begin())] += *middle - *last;
      all_waited += *middle - *last;
      all_s += *middle;
    }
    const auto most = std::max_element(waited.begin(), waited.end());
    if (*most <= 0 || *most < kMostOfWaiting * all_waited) continue;
    const double share = *most / (one.span_s > 0 ? one.span_s : all_s);
    if (share < (one.span_s > 0 ? kDecides : kMuchOfOperations)) continue;
    const auto rank = static_cast<std::size_t>(most - waited.begin());
    const NcclTimedRank& who = one.ranks[rank];
    const auto size = static_cast<int>(one.ranks.size());
    found.push_back({.rank = static_cast<int>(rank),
                     .size = size,
                     .host = who.host,
                     .pid = who.pid,
                     .own = who.own,
                     .lag = Lag::waited_for,
                     .share = one.span_s > 0 ? share : 0,
                     .sentence = fmt::format(
                         "the others wait for {} for {:.0f} % of {}, by {} operations that NCCL's Inspector wrote "
                         "down",
                         named(static_cast<int>(rank), size, who.host, who.pid), share * 100,
                         one.span_s > 0 ? "the time" : "their time in operations", one.operations.size())});
  }
}

/// Each process once, by its surest finding, then of the largest communicator.
void keep_each_once(std::vector<RankBehind>& found) {
  std::stable_sort(found.begin(), found.end(), [](const RankBehind& a, const RankBehind& b) {
    return a.lag != b.lag ? a.lag < b.lag : a.size > b.size;
  });
  std::set<Where> seen;
  std::erase_if(found, [&seen](const RankBehind& one) { return !seen.insert({one.host, one.pid}).second; });
}

bool decides(const RankBehind& one, double elapsed_s) {
  if (one.lag == Lag::silent || one.lag == Lag::stopped) return one.seconds >= kDecides * elapsed_s;
  return one.lag == Lag::waited_for && one.share >= kDecides;
}

std::string capital(std::string sentence) {
  if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z') sentence[0] = static_cast<char>(sentence[0] - 32);
  return sentence;
}

}  // namespace

std::string_view to_string(Lag lag) {
  switch (lag) {
    case Lag::silent:
      return "silent";
    case Lag::stopped:
      return "stopped";
    case Lag::waited_for:
      return "waited_for";
    case Lag::later:
      break;
  }
  return "later";
}

NcclSummary find_behind(const NcclSeen& seen, double elapsed_s) {
  NcclSummary reported{.address = seen.address, .answers = seen.answers, .facts = seen.facts};
  if (!seen.looks.empty()) {
    const NcclLook& last = seen.looks.back();
    reported.version = last.version;
    reported.communicators = last.communicators.size();
    std::set<Where> ranks;
    for (const NcclCommunicator& one : last.communicators) {
      for (const NcclRank& rank : one.ranks) ranks.insert({rank.host, rank.pid});
      for (const NcclMissing& rank : one.missing) ranks.insert({rank.host, rank.pid});
    }
    reported.processes = ranks.size();
  }
  const std::map<std::string, Course> courses = courses_of(seen);
  find_silent(courses, reported.behind);
  find_stopped(courses, elapsed_s, reported.behind, reported.facts);
  find_waited_for(seen.timed, reported.behind);
  find_later(courses, reported.behind);
  keep_each_once(reported.behind);
  for (RankBehind& one : reported.behind) one.decides = decides(one, elapsed_s);
  return reported;
}

void apply_nccl(Observation& seen) {
  const NcclSummary& reported = seen.nccl;
  for (const std::string& fact : reported.facts) seen.notes.push_back(fact);
  const RankBehind* cause = nullptr;
  for (std::size_t i = 0; i < reported.behind.size(); ++i) {
    if (cause == nullptr && reported.behind[i].decides) cause = &reported.behind[i];
    if (i < kMostNamed) seen.limit.proof.push_back("NCCL: " + reported.behind[i].sentence);
  }
  if (reported.behind.size() > kMostNamed)
    seen.limit.proof.push_back(fmt::format("NCCL: {} more ranks are behind", reported.behind.size() - kMostNamed));
  if (cause == nullptr) return;
  const std::string& id = seen.limit.id;
  const bool stands_still = cause->lag != Lag::waited_for;
  const bool unexplained = id == "consumer" || id == "unknown" || id == "hand_over";
  if (!unexplained && (cause->own || !stands_still)) return;
  seen.limit.id = stands_still ? "stopped_rank" : "slow_rank";
  seen.limit.sentence = "Another process of the job limits: " + cause->sentence;
  if (cause->own) seen.limit.sentence = capital(cause->sentence) + ": it is a process that was watched";
  seen.limit.advice = {
      fmt::format(
          "look at process {} on {}: its stack (py-spy dump --pid {}), its log, its GPU (Xid in the kernel's log)",
          cause->pid, cause->host, cause->pid),
      fmt::format("watch it there: headrace observe --pid {}", cause->pid)};
  seen.limit.command.clear();
}

}  // namespace headrace::observe
