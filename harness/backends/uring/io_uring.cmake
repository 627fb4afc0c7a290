# io_uring: needs liburing 2.3 (deferred task work), proved by linking. Static where there is one, so that the tree can
# be copied to machines without it.
find_path(LIBURING_INCLUDE_DIR liburing.h)
find_library(LIBURING_LIBRARY NAMES liburing.a uring)
if(NOT LIBURING_INCLUDE_DIR OR NOT LIBURING_LIBRARY)
  set(why_not "liburing.h or liburing not found (Debian: liburing-dev)")
  return()
endif()

headrace_links(LIBURING_WORKS ${LIBURING_INCLUDE_DIR} ${LIBURING_LIBRARY} "
  #include <liburing.h>
  int main() {
    io_uring ring{};
    io_uring_sqe* sqe = io_uring_get_sqe(&ring);
    io_uring_prep_openat_direct(sqe, 0, \"\", 0, 0, 0);
    return io_uring_queue_init(2, &ring, IORING_SETUP_DEFER_TASKRUN) + io_uring_register_files_sparse(&ring, 1) +
           io_uring_submit_and_get_events(&ring);
  }")
if(NOT LIBURING_WORKS)
  set(why_not "${LIBURING_LIBRARY} is older than 2.3")
  return()
endif()

find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(PC_LIBURING QUIET liburing)
endif()
if(NOT PC_LIBURING_VERSION)
  set(PC_LIBURING_VERSION "2.3 or later")
endif()

set(uring_sources ring.cc whole_files.cc blocks.cc writer.cc streams.cc)
list(TRANSFORM uring_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
# Apart from the door, so that tests can link the readers themselves.
add_library(headrace_uring OBJECT EXCLUDE_FROM_ALL ${uring_sources})
headrace_compile_by_folder(headrace_uring)
target_link_libraries(headrace_uring PUBLIC headrace_flags ${LIBURING_LIBRARY})
target_include_directories(headrace_uring SYSTEM PUBLIC ${LIBURING_INCLUDE_DIR})
set_target_properties(headrace_uring PROPERTIES CXX_VISIBILITY_PRESET hidden)

headrace_plugin(io_uring ${CMAKE_CURRENT_LIST_DIR}/uring_engine.cc)
target_link_libraries(headrace_io_uring PRIVATE headrace_uring)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/uring_engine.cc PROPERTIES
  COMPILE_DEFINITIONS HEADRACE_LIBURING_VERSION="${PC_LIBURING_VERSION}")
