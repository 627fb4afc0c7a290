// Measured figures compared with those of healthy hardware of this kind. It has its own scope in addition to a job's
// needs, and changes no verdict.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/expectations/parts.h"
#include "harness/judge/expectations/table.h"
#include "harness/judge/verdict/record.h"
#include "harness/judge/verdict/verdict.h"

namespace headrace::expectations {

/// How a figure compares with the usual one.
enum class Standing {
  far_below,  // surely below any sound one: a finding
  perhaps,    // measured below that, but the repetitions do not decide it
  below,      // less than usual
  usual,
  above,      // more than the part can carry: a cache helped, or the part is another one
  not_known,  // the part's rate or the value is missing, or its cache state was not proven
};
std::string_view to_string(Standing standing);  // "far below", "usual" ...

/// One figure of a point with its expectation.
struct Expected {
  std::string point{}, metric{};  // "h2d/label:sizes", "bandwidth_gpu0"
  Part part{};
  double usual_low = 0, usual_high = 0, least = 0;  // shares of the part's rate
  std::string source{};
  Standing standing = Standing::not_known;
  std::optional<double> measured{}, low{}, high{};  // [B/s], with the bounds that decided
  Reason reason = Reason::none;                     // of `perhaps`, and of a value that cannot be relied on
  std::string why{};                                // of `not_known` and `perhaps`: a sentence

  /// The share of the part's rate; nothing where it is not known.
  std::optional<double> share() const;
};

/// Every figure of `points` for which the table has an entry, in their order. "Far below" follows from the bounds that
/// a verdict would use. Disturbed values, values not proven cold, and too few values are `perhaps`.
std::vector<Expected> hold(std::span<const Part> parts, const Table& table,
                           std::span<const judging::RecordedPoint> points);

/// "87 % of 63 GB/s (gpu0: PCIe gen 5 x16); usual is 80 to 90 %".
std::string sentence(const Expected& expected);

/// An entry that holds for a part of this machine, before anything was measured.
struct Prospect {
  const Part* part = nullptr;
  const FigureEntry* figure = nullptr;
};
/// In the order of the parts; parts whose rate is not known have no prospects.
std::vector<Prospect> prospects(std::span<const Part> parts, const Table& table);

}  // namespace headrace::expectations
