#include "harness/analysis/comparison/same_fact.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace headrace::comparison {
namespace {

constexpr double kTolerance = 5e-6;  // files of pages carry 7 digits
constexpr std::size_t kFewest = 4;   // values of both sides: fewer agree by chance

/// All values, A's before B's.
std::vector<double> all_values_of(const Row& row) {
  std::vector<double> all = row.base.values;
  all.insert(all.end(), row.other.values.begin(), row.other.values.end());
  return all;
}

template <class Combine>
bool is_constant(const std::vector<double>& x, const std::vector<double>& y, Combine combine) {
  double low = combine(x[0], y[0]), high = low;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const double value = combine(x[i], y[i]);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return high <= low * (1 + kTolerance);
}

bool say_the_same(const Row& a, const Row& b) {
  if (a.delta != b.delta || a.callable != b.callable || a.reason != b.reason) return false;
  if (a.base.values.size() != b.base.values.size()) return false;
  const std::vector<double> x = all_values_of(a), y = all_values_of(b);
  if (x.size() != y.size() || x.size() < kFewest) return false;
  // What never changes says nothing of what else never changes.
  if (is_constant(x, y, [](double p, double) { return p; })) return false;
  return is_constant(x, y, [](double p, double q) { return p / q; }) ||
         is_constant(x, y, [](double p, double q) { return p * q; });
}

}  // namespace

void fold_same_facts(std::vector<Row>& rows) {
  std::map<std::pair<std::string, std::string>, std::vector<Row*>> by_point;
  for (Row& row : rows)
    if (!row.fact) by_point[{row.base_point, row.other_point}].push_back(&row);
  for (auto& [point, of_point] : by_point) {
    std::stable_sort(of_point.begin(), of_point.end(), [](const Row* a, const Row* b) { return a->gated > b->gated; });
    std::vector<const Row*> heads;
    for (Row* row : of_point) {
      const auto head = std::find_if(heads.begin(), heads.end(),
                                     [&](const Row* known) { return !row->gated && say_the_same(*known, *row); });
      if (head == heads.end())
        heads.push_back(row);
      else
        row->says_same_as = (*head)->metric;
    }
  }
}

}  // namespace headrace::comparison
