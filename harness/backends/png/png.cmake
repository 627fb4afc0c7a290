# png: needs libpng 1.6.
find_package(PNG 1.6 QUIET)
if(NOT PNG_FOUND)
  set(why_not "png.h or libpng 1.6 not found (Debian: libpng-dev)")
  return()
endif()

set(png_sources png_backend.cc decoder.cc)
list(TRANSFORM png_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
headrace_plugin(png ${png_sources})
target_include_directories(headrace_png SYSTEM PRIVATE ${PNG_INCLUDE_DIRS})
target_link_libraries(headrace_png PRIVATE ${PNG_LIBRARIES})
