// A shared library that may not be there, and its functions. Header-only, so that plugins can use it.
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <string>

namespace headrace {

/// Stays loaded until the program ends: drivers do not like to be unloaded.
class Library {
 public:
  /// The first of `names` that loads.
  explicit Library(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if ((handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL))) return;
      if (why_.empty()) why_ = ::dlerror();
    }
  }
  explicit operator bool() const { return handle_ != nullptr; }
  /// Why none loaded, in the loader's words.
  const std::string& why() const { return why_; }
  /// Fills in `function`; false when the library has no such symbol.
  template <class F>
  bool find(const char* symbol, F*& function) const {
    function = handle_ ? reinterpret_cast<F*>(::dlsym(handle_, symbol)) : nullptr;
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
  std::string why_;
};

}  // namespace headrace
