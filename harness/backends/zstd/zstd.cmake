# zstd: needs libzstd 1.4.
find_path(ZSTD_INCLUDE_DIR zstd.h)
find_library(ZSTD_LIBRARY NAMES zstd)
if(NOT ZSTD_INCLUDE_DIR OR NOT ZSTD_LIBRARY)
  set(why_not "zstd.h or libzstd not found (Debian: libzstd-dev)")
  return()
endif()

headrace_links(ZSTD_WORKS ${ZSTD_INCLUDE_DIR} ${ZSTD_LIBRARY} "
  #include <zstd.h>
  int main() { return ZSTD_DCtx_reset(nullptr, ZSTD_reset_session_only) != 0; }")
if(NOT ZSTD_WORKS)
  set(why_not "${ZSTD_LIBRARY} is older than 1.4")
  return()
endif()

headrace_plugin(zstd ${CMAKE_CURRENT_LIST_DIR}/zstd_backend.cc)
target_include_directories(headrace_zstd SYSTEM PRIVATE ${ZSTD_INCLUDE_DIR})
target_link_libraries(headrace_zstd PRIVATE ${ZSTD_LIBRARY})
