// Facts on a store, its network and its clients: a data sheet, or measured runs, or both.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/simulate/supply.h"
#include "harness/base/diagnostics.h"
#include "harness/base/units.h"
#include "harness/job/range.h"

namespace headrace::simulate {

/// Values of a sheet by key; a key that is not given is not there.
using Values = std::map<std::string, double, std::less<>>;

/// One key of a sheet: docs/reference/simulate.md lists them from this table.
struct SheetKey {
  std::string_view path;  // "store.read"
  Dimension dimension = Dimension::count;
  job::Range range = {};
  double fallback = 0;                          // the value without it; a limit that is not given is none
  bool more_helps = false, less_helps = false;  // a tenth more, or less, of it is tried as an improvement
  std::string_view help = {};
};
std::span<const SheetKey> sheet_keys();

struct Sheet {
  std::string name, source;  // whose figures they are
  Values values;
  Values prices;  // of a tenth more (or less) of a value [USD]
  std::map<std::string, Location, std::less<>> places;

  bool has(std::string_view key) const { return values.contains(key); }
  /// The value, or the key's fallback.
  double at(std::string_view key) const;
  Location place(std::string_view key) const;
};

/// Throws UsageErrors with every problem and its place.
Sheet load_sheet(const std::string& path);

/// The simulated system: the sheet's values, and measured or stated supplies.
struct System {
  Sheet sheet;
  Supply read, save, restore, opens;  // the last [1/s]
  std::vector<std::string> from;      // a sentence for each figure: its meaning and source

  /// Takes the sheet's values of the store where nothing was measured; a stated limit holds in any case.
  void add_sheet(Sheet stated);
};

}  // namespace headrace::simulate
