# jpeg: needs libjpeg-turbo 1.5 (jpeg_crop_scanline, jpeg_skip_scanlines), proved by linking.
find_package(JPEG QUIET)
if(NOT JPEG_FOUND)
  set(why_not "jpeglib.h or libjpeg not found (Debian: libjpeg-dev)")
  return()
endif()

headrace_links(LIBJPEG_TURBO_WORKS "${JPEG_INCLUDE_DIRS}" "${JPEG_LIBRARIES}" "
  #include <cstdio>
  #include <jpeglib.h>
  int main() {
    jpeg_decompress_struct image{};
    JDIMENSION x = 0, width = 0;
    jpeg_mem_src(&image, nullptr, 0);
    jpeg_crop_scanline(&image, &x, &width);
    return jpeg_skip_scanlines(&image, 1) + LIBJPEG_TURBO_VERSION_NUMBER;
  }")
if(NOT LIBJPEG_TURBO_WORKS)
  set(why_not "${JPEG_LIBRARIES} is no libjpeg-turbo of 1.5 or later")
  return()
endif()

set(jpeg_sources jpeg_backend.cc decoder.cc encoder.cc)
list(TRANSFORM jpeg_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
headrace_plugin(jpeg ${jpeg_sources})
target_include_directories(headrace_jpeg SYSTEM PRIVATE ${JPEG_INCLUDE_DIRS})
target_link_libraries(headrace_jpeg PRIVATE ${JPEG_LIBRARIES})
