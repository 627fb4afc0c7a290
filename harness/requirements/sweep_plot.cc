// The figure of a sweep: small panels, one per need that changes, drawn as SVG without any library.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/requirements/formula.h"
#include "harness/requirements/job_sweep.h"
#include "harness/requirements/need_output.h"
#include "harness/requirements/range.h"

namespace headrace::requirements {
namespace {

constexpr double kPanelWidth = 360, kPanelHeight = 220;
constexpr double kLeft = 74, kRight = 20, kTop = 34, kBottom = 38;
constexpr std::size_t kMostPanels = 24, kColumns = 2;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

/// A straight or logarithmic scale from values to pixels.
struct Scale {
  double low = 0, high = 1, from = 0, to = 1;
  bool logarithmic = false;

  double at(double value) const {
    const double share = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return from + share * (to - from);
  }
  std::vector<double> ticks() const {
    std::vector<double> ticks;
    if (logarithmic) {
      const int first = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
      const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
      const int step = std::max(1, (last - first + 4) / 5);
      for (int e = first; e <= last; e += step) ticks.push_back(std::pow(10, e));
      if (ticks.size() < 2) ticks = {low, high};
      return ticks;
    }
    const double rough = (high - low) / 4, power = std::pow(10, std::floor(std::log10(rough)));
    const double step = rough / power < 1.5   ? power
                        : rough / power < 3.5 ? 2 * power
                        : rough / power < 7.5 ? 5 * power
                                              : 10 * power;
    for (double t = std::ceil(low / step) * step; t <= high * (1 + 1e-9); t += step) ticks.push_back(t);
    return ticks;
  }
};

Scale scale_over(double low, double high, double from, double to, bool from_zero) {
  Scale scale{low, high, from, to, low > 0 && high / low > 30};
  if (!scale.logarithmic && from_zero) scale.low = 0;
  if (!(scale.high > scale.low)) scale.high = scale.low + (scale.low > 0 ? scale.low : 1);
  return scale;
}

/// The first key's values as numbers, or as places 0, 1, 2 ... when they are words.
class AxisX {
 public:
  explicit AxisX(const Sweep& sweep) {
    std::vector<Parsed> numbers;
    for (const SweepPoint& point : sweep.points) {
      const std::string& text = point.values.front();
      if (!place_.emplace(text, static_cast<double>(texts_.size())).second) continue;
      texts_.push_back(text);
      numbers.push_back(parse_quantity(text, Dimension::any));
    }
    words_ = std::any_of(numbers.begin(), numbers.end(), [](const Parsed& p) { return !p; });
    if (words_) return;
    for (std::size_t i = 0; i < texts_.size(); ++i) place_[texts_[i]] = numbers[i].value;
  }
  double of(const std::string& text) const { return place_.at(text); }
  Scale scale() const {
    double low = of(texts_.front()), high = low;
    for (const std::string& text : texts_) {
      low = std::min(low, of(text));
      high = std::max(high, of(text));
    }
    Scale scale = scale_over(low, high, kLeft, kPanelWidth - kRight, false);
    scale.logarithmic = scale.logarithmic && !words_;
    return scale;
  }
  /// At most five of the swept values, as they were written.
  std::vector<std::string> labels() const {
    std::vector<std::string> labels;
    const std::size_t step = (texts_.size() + 4) / 5;
    for (std::size_t i = 0; i < texts_.size(); i += step) labels.push_back(texts_[i]);
    return labels;
  }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, double> place_;
  bool words_ = false;
};

std::string line_name(const Sweep& sweep, const SweepPoint& point) {
  std::string name;
  for (std::size_t k = 1; k < sweep.keys.size(); ++k)
    name += (name.empty() ? "" : ", ") + sweep.keys[k].substr(sweep.keys[k].rfind('.') + 1) + ' ' + point.values[k];
  return name;
}

std::string panel(const Sweep& sweep, std::size_t column, const AxisX& axis) {
  double low = -1, high = 0;
  std::map<std::string, std::vector<std::pair<double, double>>> lines;
  for (const SweepPoint& point : sweep.points) {
    const double y = point.needs[column];
    if (y < 0) continue;
    low = low < 0 ? y : std::min(low, y);
    high = std::max(high, y);
    lines[line_name(sweep, point)].emplace_back(axis.of(point.values.front()), y);
  }
  const Scale x = axis.scale(), y = scale_over(low, high, kPanelHeight - kBottom, kTop, true);
  const auto& [id, scope, unit] = sweep.columns[column];
  std::string out =
      fmt::format("<text class=\"title\" x=\"{}\" y=\"18\">{} ({})</text>\n", kLeft, escaped(id), to_string(scope));
  for (const double tick : y.ticks())
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text "
        "class=\"y\" x=\"{3}\" "
        "y=\"{4:.1f}\">{5}</text>\n",
        kLeft, kPanelWidth - kRight, y.at(tick), kLeft - 6, y.at(tick) + 4,
        escaped(tick == 0 ? "0" : compact_quantity(tick, dimension_of_unit(unit), 3)));
  for (const std::string& label : axis.labels())
    out += fmt::format("<text class=\"x\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", x.at(axis.of(label)),
                       kPanelHeight - kBottom + 16, escaped(label));
  out += fmt::format("<text class=\"x\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", (kLeft + kPanelWidth - kRight) / 2,
                     kPanelHeight - 6, escaped(sweep.keys.front()));
  std::size_t number = 0;
  for (auto& [name, points] : lines) {
    std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string path;
    for (const auto& [px, py] : points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", x.at(px), y.at(py));
    out += fmt::format("<path class=\"line l{}\" d=\"{}\"/>\n", number % 6, path);
    if (points.size() <= 40)
      for (const auto& [px, py] : points)
        out += fmt::format(
            "<circle class=\"l{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"><title>{} "
            "{}</title></circle>\n",
            number % 6, x.at(px), y.at(py), escaped(name), escaped(need_value(py, unit)));
    if (!name.empty() && lines.size() <= 6)
      out += fmt::format("<text class=\"name n{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", number % 6, kLeft + 6,
                         kTop + 12.0 + 13.0 * static_cast<double>(number), escaped(name));
    ++number;
  }
  return out;
}

/// Six colours that stay apart for colour-blind readers (Okabe and Ito), on light and on dark.
constexpr const char* kStyle = R"(<style>
svg{font:12px system-ui,sans-serif;background:#fff;color:#222}
text{fill:#222}.title{font-weight:600}.y{text-anchor:end;fill:#555}.x{text-anchor:middle;fill:#555}
.grid{stroke:#ddd}.line{fill:none;stroke-width:2}.name{font-size:11px}
.l0{stroke:#0072b2}.l1{stroke:#d55e00}.l2{stroke:#009e73}.l3{stroke:#cc79a7}.l4{stroke:#8a6d00}.l5{stroke:#3a86a8}
circle{fill:#fff}.n0{fill:#0072b2}.n1{fill:#d55e00}.n2{fill:#009e73}.n3{fill:#cc79a7}.n4{fill:#8a6d00}.n5{fill:#3a86a8}
@media (prefers-color-scheme:dark){svg{background:#16181c}text{fill:#e6e6e6}.x,.y{fill:#a8a8a8}.grid{stroke:#383b40}
circle{fill:#16181c}.l0{stroke:#56b4e9}.n0{fill:#56b4e9}.l4{stroke:#e69f00}.n4{fill:#e69f00}}
</style>
)";

}  // namespace

std::string sweep_svg(const Sweep& sweep) {
  std::vector<std::size_t> columns = changing_columns(sweep);
  const std::size_t changing = columns.size();
  if (columns.empty())
    for (std::size_t c = 0; c < std::min<std::size_t>(sweep.columns.size(), 1); ++c) columns.push_back(c);
  if (columns.size() > kMostPanels) columns.resize(kMostPanels);
  const std::size_t rows = (columns.size() + kColumns - 1) / kColumns;
  const double width = kPanelWidth * std::min(columns.size(), kColumns),
               height = 30 + kPanelHeight * static_cast<double>(rows);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" "
      "aria-label=\"needs of {2} over {3}\">\n{4}<text class=\"title\" x=\"12\" y=\"20\">{2}: "
      "needs with margin{5}</text>\n",
      width, height, escaped(sweep.job), escaped(fmt::format("{}", fmt::join(sweep.keys, ", "))), kStyle,
      changing > kMostPanels ? fmt::format(" (the first {} of {} that change)", kMostPanels, changing) : "");
  const AxisX axis(sweep);
  for (std::size_t i = 0; i < columns.size(); ++i)
    out += fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n", kPanelWidth * static_cast<double>(i % kColumns),
                       30 + kPanelHeight * static_cast<double>(i / kColumns), panel(sweep, columns[i], axis));
  return out + "</svg>\n";
}

std::string sweep_html(const Sweep& sweep) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\">\n"
      "<title>{}: needs over {}</title>\n<style>:root{{color-scheme:light "
      "dark}}body{{margin:1rem}}svg{{max-width:100%;"
      "height:auto}}</style>\n{}</html>\n",
      escaped(sweep.job), escaped(fmt::format("{}", fmt::join(sweep.keys, ", "))), sweep_svg(sweep));
}

}  // namespace headrace::requirements
