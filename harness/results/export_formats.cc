#include <algorithm>
#include <utility>

#include "harness/results/exports.h"

namespace headrace::results {
namespace {

struct Known {
  std::vector<int> orders;
  std::vector<ExportFormat> formats;
};

Known& known() {
  static Known all;
  return all;
}

}  // namespace

RegisterExport::RegisterExport(int order, const ExportFormat& format) {
  Known& all = known();
  const auto at = std::upper_bound(all.orders.begin(), all.orders.end(), order) - all.orders.begin();
  all.orders.insert(all.orders.begin() + at, order);
  all.formats.insert(all.formats.begin() + at, format);
}

std::span<const ExportFormat> export_formats() { return known().formats; }

const ExportFormat& export_format(std::string_view word) {
  const auto& all = known().formats;
  return *std::find_if(all.begin(), all.end(), [word](const ExportFormat& f) { return f.word == word; });
}

}  // namespace headrace::results
