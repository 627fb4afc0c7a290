// decode_jpeg PASSES FILE...: the least that decodes JPEGs out of memory to RGB by libjpeg-turbo. Prints images per
// second of processor time.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>
// After <cstdio>, which it needs.
#include <jpeglib.h>

static double cpu_s() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

int main(int argc, char** argv) {
  std::vector<std::vector<unsigned char>> files;
  for (int i = 2; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  const int passes = std::atoi(argv[1]);
  jpeg_decompress_struct image{};
  jpeg_error_mgr errors{};
  image.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&image);
  std::vector<unsigned char> rgb;
  const double begin = cpu_s();
  for (int pass = 0; pass < passes; ++pass) {
    for (const auto& file : files) {
      jpeg_mem_src(&image, file.data(), file.size());
      jpeg_read_header(&image, TRUE);
      image.out_color_space = JCS_RGB;
      jpeg_start_decompress(&image);
      rgb.resize(std::size_t{3} * image.output_width * image.output_height);
      while (image.output_scanline < image.output_height) {
        JSAMPROW row = rgb.data() + std::size_t{3} * image.output_width * image.output_scanline;
        jpeg_read_scanlines(&image, &row, 1);
      }
      jpeg_finish_decompress(&image);
    }
  }
  std::printf("%.1f\n", passes * static_cast<double>(files.size()) / (cpu_s() - begin));
  jpeg_destroy_decompress(&image);
}
