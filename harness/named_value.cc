#include "harness/named_value.h"

#include "harness/units.h"

namespace headrace {

std::string format_named(double value, std::string_view unit, std::string_view name) {
  if (unit == "B" && name.find("memory") != std::string_view::npos)
    return format_quantity(value, Dimension::bytes, true);
  return format_in_unit(value, unit);
}

}  // namespace headrace
