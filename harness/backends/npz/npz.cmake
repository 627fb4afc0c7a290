# npz: needs zlib.
find_path(ZLIB_INCLUDE_DIR zlib.h)
find_library(ZLIB_LIBRARY NAMES z)
if(NOT ZLIB_INCLUDE_DIR OR NOT ZLIB_LIBRARY)
  set(why_not "zlib.h or libz not found (Debian: zlib1g-dev)")
  return()
endif()

headrace_links(ZLIB_WORKS ${ZLIB_INCLUDE_DIR} ${ZLIB_LIBRARY} "
  #include <zlib.h>
  int main() { return crc32_z(0, nullptr, 0) != 0; }")
if(NOT ZLIB_WORKS)
  set(why_not "${ZLIB_LIBRARY} is older than 1.2.9")
  return()
endif()

headrace_plugin(npz ${CMAKE_CURRENT_LIST_DIR}/npz_backend.cc ${CMAKE_CURRENT_LIST_DIR}/decoder.cc
  ${CMAKE_CURRENT_LIST_DIR}/zip.cc ${CMAKE_CURRENT_LIST_DIR}/npy.cc)
target_include_directories(headrace_npz SYSTEM PRIVATE ${ZLIB_INCLUDE_DIR})
target_link_libraries(headrace_npz PRIVATE ${ZLIB_LIBRARY})
