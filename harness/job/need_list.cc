// Needs from derivations: values, and the texts that let a reader check them by hand.
#include "harness/job/need_list.h"

#include <fmt/format.h>

namespace headrace::job {

Derivation::Derivation(std::string_view formula, std::initializer_list<NamedValue> values)
    : Derivation(apply(formula, values)) {}

Derivation::Derivation(Applied applied) { steps_.push_back({{}, {}, std::move(applied)}); }

Derivation& Derivation::of(std::string_view input, const Derivation& other) {
  const Input* fed = formula().find_input(input);
  steps_.insert(steps_.end(), other.steps_.begin(), other.steps_.end());
  Step& first = steps_[steps_.size() - other.steps_.size()];
  first.symbol = fed ? fed->symbol : input;
  first.name = fed ? plain_name(*fed) : std::string(input);
  return *this;
}

bool NeedList::have(std::initializer_list<std::string_view> ids, std::initializer_list<std::string_view> keys) {
  std::vector<std::string> missing;
  for (const std::string_view key : keys) {
    std::string path(key);
    if (!job_.values.count(path)) missing.push_back(std::move(path));
  }
  if (missing.empty()) return true;
  for (const std::string_view id : ids) locked_.push_back({std::string(id), missing});
  return false;
}

Need& NeedList::add(std::string_view id, Scope scope, const Derivation& derivation, Share share) {
  Explanation why;
  if (texts_) {
    const bool shared = share.count != 1;
    const char sign = share.multiply ? '*' : '/';
    for (const Derivation::Step& step : derivation.steps_) {
      const Formula& formula = *step.applied.formula;
      const bool first = &step == &derivation.steps_.front();
      std::string equation(formula.equation), words = named(formula),
                                              numbers = substituted(formula, step.applied.arguments);
      if (first && shared) {
        equation = fmt::format("({}) {} {}", equation, sign, share.of);
        words = fmt::format("({}) {} {}", words, sign, share.of);
        numbers = fmt::format("({}) {} {}", numbers, sign, share.count);
      }
      why.formula += (first ? "" : " of ") + std::string(formula.id);
      why.equation += first ? equation : fmt::format("; {} = {}", step.symbol, equation);
      why.named += first ? words : fmt::format("; {} ({}) = {}", step.name, step.symbol, words);
      why.substituted += first ? numbers : fmt::format("; {} = {}", step.symbol, numbers);
      for (std::size_t i = 0; i < formula.inputs.size(); ++i)
        why.inputs.emplace_back(formula.inputs[i].name, step.applied.arguments[i].number);
    }
    if (shared) why.inputs.emplace_back(std::string(share.of) + "_count", share.count);
  }
  const double value = share.multiply ? derivation.value() * share.count : derivation.value() / share.count;
  return add(id, scope, value, derivation.formula().unit, std::move(why));
}

void NeedList::add_shared(std::string_view id, const Derivation& derivation) {
  add(id, Scope::cluster, derivation);
  add(id, Scope::node, derivation, {job_.cluster.nodes, "nodes"});
}

Need& NeedList::add(std::string_view id, Scope scope, double required, std::string_view unit, Explanation why) {
  Need need;
  need.id = id;
  need.scope = scope;
  need.required = required;
  need.need = job_.safety * required;
  need.unit = unit;
  need.formula = std::move(why.formula);
  need.named = std::move(why.named);
  need.equation = std::move(why.equation);
  need.substituted = std::move(why.substituted);
  need.inputs = std::move(why.inputs);
  needs_.push_back(std::move(need));
  return needs_.back();
}

}  // namespace headrace::job
