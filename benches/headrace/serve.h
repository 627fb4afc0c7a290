// headrace run --serve: the other end of network measurements that a headrace on another host leads.
#pragma once

#include "benches/headrace/verb.h"

namespace headrace::cli {

struct ServeArguments {
  std::string address, timeout = "10min";  // "" = nobody is served
  bool once = false;
};

void add_serve_options(Verb& verb, ServeArguments& arguments);

/// Serves who has `token`, until nobody comes. Returns the exit code.
int serve(const ServeArguments& arguments, const std::string& token, const Shared& shared);

}  // namespace headrace::cli
