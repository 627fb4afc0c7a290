# verbs: needs libibverbs of rdma-core 34 or later (memory by dma-buf).
find_path(IBVERBS_INCLUDE_DIR infiniband/verbs.h)
find_library(IBVERBS_LIBRARY NAMES ibverbs)
if(NOT IBVERBS_INCLUDE_DIR OR NOT IBVERBS_LIBRARY)
  set(why_not "infiniband/verbs.h or libibverbs not found (Debian: libibverbs-dev)")
  return()
endif()

headrace_links(IBVERBS_WORKS ${IBVERBS_INCLUDE_DIR} ${IBVERBS_LIBRARY} "
  #include <infiniband/verbs.h>
  int main() { return ibv_reg_dmabuf_mr(nullptr, 0, 0, 0, 0, 0) != nullptr; }")
if(NOT IBVERBS_WORKS)
  set(why_not "${IBVERBS_LIBRARY} is older than rdma-core 34")
  return()
endif()

find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(PC_IBVERBS QUIET libibverbs)
endif()
if(NOT PC_IBVERBS_VERSION)
  set(PC_IBVERBS_VERSION "1.11 or later")
endif()

# librdmacm is asked for where it is used, and may be missing then.
find_path(RDMACM_INCLUDE_DIR rdma/rdma_cma.h)
if(RDMACM_INCLUDE_DIR)
  set(verbs_manager manager.cc manager_address.cc)
else()
  set(verbs_manager manager_absent.cc)
endif()
# So is the mlx5 driver's library.
find_path(MLX5DV_INCLUDE_DIR infiniband/mlx5dv.h)
if(MLX5DV_INCLUDE_DIR)
  set(verbs_dynamic dynamic.cc)
else()
  set(verbs_dynamic dynamic_absent.cc)
endif()
set(verbs_endpoint_sources
  endpoint.cc make_endpoint.cc connections.cc datagrams.cc ${verbs_dynamic} ${verbs_manager} words.cc)
list(TRANSFORM verbs_endpoint_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
# Apart from the door, so that tests can link parts of it.
add_library(headrace_verbs_endpoint STATIC EXCLUDE_FROM_ALL ${verbs_endpoint_sources})
target_link_libraries(headrace_verbs_endpoint PUBLIC headrace_flags)
target_include_directories(headrace_verbs_endpoint SYSTEM PUBLIC ${IBVERBS_INCLUDE_DIR} $<$<BOOL:${RDMACM_INCLUDE_DIR}>:${RDMACM_INCLUDE_DIR}>)
set_target_properties(headrace_verbs_endpoint PROPERTIES CXX_VISIBILITY_PRESET hidden)
set(verbs_sources verbs_backend.cc ports.cc)
list(TRANSFORM verbs_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
headrace_plugin(verbs ${verbs_sources})
target_link_libraries(headrace_verbs PRIVATE headrace_verbs_endpoint ${IBVERBS_LIBRARY})
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/verbs_backend.cc PROPERTIES
  COMPILE_DEFINITIONS HEADRACE_IBVERBS_VERSION="${PC_IBVERBS_VERSION}")
