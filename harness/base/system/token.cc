#include "harness/base/system/token.h"

#include <sys/random.h>
#include <sys/types.h>

#include <cerrno>

#include "harness/base/error.h"

namespace headrace::system {

std::string new_token() {
  std::string token(16, '\0');
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size()))
    throw system_error("getrandom", "a token", errno);
  return token;
}

bool same_token(const std::string& given, const std::string& right) {
  unsigned char differ = given.size() == right.size() ? 0 : 1;
  for (std::size_t i = 0; i < right.size(); ++i)
    differ |= static_cast<unsigned char>((i < given.size() ? given[i] : 0) ^ right[i]);
  return differ == 0;
}

}  // namespace headrace::system
