# parquet: needs Apache Arrow C++ with Parquet. HEADRACE_ARROW_ROOT is a folder with include/ and the libraries, in
# lib/ or next to it. It is an installed Arrow, or the package pyarrow of Python.
set(HEADRACE_ARROW_ROOT "" CACHE PATH "Apache Arrow C++ with Parquet")
find_path(ARROW_INCLUDE_DIR parquet/arrow/reader.h HINTS ${HEADRACE_ARROW_ROOT} PATH_SUFFIXES include)
foreach(library arrow parquet)
  string(TOUPPER ${library} LIBRARY)
  find_library(${LIBRARY}_LIBRARY NAMES ${library} HINTS ${HEADRACE_ARROW_ROOT} PATH_SUFFIXES lib)
  if(NOT ${LIBRARY}_LIBRARY AND HEADRACE_ARROW_ROOT)
    file(GLOB versioned ${HEADRACE_ARROW_ROOT}/lib${library}.so.*)
    list(GET versioned 0 first)
    if(first)
      set(${LIBRARY}_LIBRARY ${first} CACHE FILEPATH "" FORCE)
    endif()
  endif()
endforeach()
if(NOT ARROW_INCLUDE_DIR OR NOT ARROW_LIBRARY OR NOT PARQUET_LIBRARY)
  set(why_not "Apache Arrow C++ with Parquet not found (its own packages, or -DHEADRACE_ARROW_ROOT=DIR of PyPI's pyarrow)")
  return()
endif()

headrace_links(ARROW_WORKS ${ARROW_INCLUDE_DIR} "${PARQUET_LIBRARY};${ARROW_LIBRARY}" "
  #include <arrow/util/config.h>
  #include <parquet/arrow/reader.h>
  static_assert(ARROW_VERSION_MAJOR >= 15);
  int main() { return parquet::arrow::FileReaderBuilder().raw_reader() != nullptr; }")
if(NOT ARROW_WORKS)
  set(why_not "${PARQUET_LIBRARY} does not link, or is older than 15")
  return()
endif()

headrace_plugin(parquet ${CMAKE_CURRENT_LIST_DIR}/parquet_backend.cc ${CMAKE_CURRENT_LIST_DIR}/counted_file.cc)
target_include_directories(headrace_parquet SYSTEM PRIVATE ${ARROW_INCLUDE_DIR})
target_link_libraries(headrace_parquet PRIVATE ${PARQUET_LIBRARY} ${ARROW_LIBRARY})
# Libraries are looked for next to the built or installed plugin: no absolute path is kept.
foreach(library ${PARQUET_LIBRARY} ${ARROW_LIBRARY})
  if(HEADRACE_ARROW_ROOT)
    get_filename_component(name ${library} NAME)
    file(CREATE_LINK ${library} ${CMAKE_BINARY_DIR}/${name} SYMBOLIC)
  endif()
endforeach()
