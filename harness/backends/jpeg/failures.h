// libjpeg ends a call that fails by a function that must not return. It jumps back to the caller, in functions whose
// variables need no destructor.
#pragma once

#include <csetjmp>
#include <cstdio>
// After <cstdio>, which it needs and does not include.
#include <jerror.h>
#include <jpeglib.h>

namespace headrace::jpeg {

/// Where a failed call of the library returns to, and its message.
struct Failures {
  jpeg_error_mgr manager;  // the first member: the library hands back its address
  std::jmp_buf back;
  char what[JMSG_LENGTH_MAX];
};

[[noreturn]] inline void jump_back(j_common_ptr any) noexcept {
  auto* failures = reinterpret_cast<Failures*>(any->err);
  failures->manager.format_message(any, failures->what);
  std::longjmp(failures->back, 1);
}

/// Loaders decode an image over which the library only warns (Pillow, OpenCV, TensorFlow). But a file that ends early is an
/// error to them.
inline void judge_warning(j_common_ptr any, int level) noexcept {
  if (level < 0 && any->err->msg_code == JWRN_JPEG_EOF) jump_back(any);
}

inline jpeg_error_mgr* prepare(Failures& failures) noexcept {
  jpeg_std_error(&failures.manager);
  failures.manager.error_exit = jump_back;
  failures.manager.emit_message = judge_warning;
  failures.manager.output_message = [](j_common_ptr) {};
  return &failures.manager;
}

}  // namespace headrace::jpeg
