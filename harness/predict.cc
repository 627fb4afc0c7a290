#include "harness/predict.h"

#include "harness/requirements/formula.h"

namespace headrace {

double predict(std::string_view formula, std::initializer_list<std::pair<std::string_view, double>> inputs) {
  return requirements::apply(formula, inputs).value();
}

}  // namespace headrace
