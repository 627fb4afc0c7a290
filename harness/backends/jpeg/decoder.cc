// JPEG decoded as far as a region needs: jpeg_crop_scanline limits columns of blocks. jpeg_skip_scanlines skips rows
// (only the entropy code is read), and nothing behind the last one is read.
#include <new>

#include "harness/backends/jpeg/codec.h"
#include "harness/backends/jpeg/failures.h"

namespace headrace::jpeg {
namespace {

/// A progressive file may repeat scans of a few bytes that each cost a pass over the whole image. Encoders write about
/// ten.
constexpr int kMostScans = 500;
/// Pixels around the region on which its colours at the edge depend: chroma that is interpolated.
constexpr std::uint32_t kMargin = 2;

void watch_scans(j_common_ptr any) noexcept {
  auto* image = reinterpret_cast<j_decompress_ptr>(any);
  if (image->input_scan_number <= kMostScans) return;
  auto* failures = reinterpret_cast<Failures*>(any->err);
  std::snprintf(failures->what, sizeof failures->what, "more than %d scans", kMostScans);
  std::longjmp(failures->back, 1);
}

/// An image whose colours are printed ones, as RGB. Adobe stores them inverted.
void to_rgb(const unsigned char* cmyk, bool inverted, std::uint32_t pixels, unsigned char* rgb) noexcept {
  for (std::uint32_t i = 0; i < pixels; ++i, cmyk += 4) {
    for (unsigned c = 0; c < 3; ++c) {
      const unsigned ink = inverted ? cmyk[c] : 255u - cmyk[c], key = inverted ? cmyk[3] : 255u - cmyk[3];
      *rgb++ = static_cast<unsigned char>((ink * key + 127) / 255);
    }
  }
}

class Decoder final : public ImageDecoder {
 public:
  explicit Decoder(const DecodeLimits& limits) : limits_(limits) {
    image_.err = prepare(failures_);
    if (!create()) throw std::bad_alloc();
    progress_.progress_monitor = watch_scans;
    image_.progress = &progress_;
  }
  ~Decoder() override { jpeg_destroy_decompress(&image_); }
  Decoder(const Decoder&) = delete;

  bool open(std::span<const unsigned char> file, ImageSize& size, DecodeError& error) noexcept override {
    bytes_ = file.size();
    if (file.empty()) return refuse(error, "it is empty");
    if (!read_head(file.data(), static_cast<unsigned long>(file.size()))) return fail(error);
    size = {.width = image_.image_width, .height = image_.image_height};
    if (size.pixels() <= limits_.pixels) return true;
    std::snprintf(failures_.what, sizeof failures_.what, "%u x %u pixels, and no more than %llu are decoded",
                  size.width, size.height, static_cast<unsigned long long>(limits_.pixels));
    return fail(error);
  }

  bool decode(const Region& region, unsigned scale, Pixels& pixels, DecodeError& error) noexcept override {
    if (!begin(region, scale)) return fail(error);
    stride_ = std::size_t{3} * image_.output_width;
    try {
      rows_.resize(stride_ * region.height);
      if (image_.output_components == 4) inks_.resize(std::size_t{4} * image_.output_width);
    } catch (const std::bad_alloc&) {
      return refuse(error, "there is no memory for its pixels");
    }
    if (!read_rows(region)) return fail(error);
    pixels = {.data = rows_.data() + std::size_t{3} * (region.x - left_),
              .stride = stride_,
              .width = region.width,
              .height = region.height};
    jpeg_abort_decompress(&image_);
    return true;
  }
  bool scales() const noexcept override { return true; }

 private:
  // Failures jump out of the next four.

  bool create() noexcept {
    if (setjmp(failures_.back)) return false;
    jpeg_create_decompress(&image_);
    return true;
  }
  bool read_head(const unsigned char* data, unsigned long length) noexcept {
    if (setjmp(failures_.back)) return false;
    jpeg_abort_decompress(&image_);
    jpeg_mem_src(&image_, data, length);
    jpeg_read_header(&image_, TRUE);
    return true;
  }
  bool begin(const Region& region, unsigned scale) noexcept {
    if (setjmp(failures_.back)) return false;
    const bool printed = image_.jpeg_color_space == JCS_CMYK || image_.jpeg_color_space == JCS_YCCK;
    image_.out_color_space = printed ? JCS_CMYK : JCS_RGB;
    image_.scale_num = 1;
    image_.scale_denom = scale;
    jpeg_start_decompress(&image_);
    left_ = region.x > kMargin ? region.x - kMargin : 0;
    const JDIMENSION right = std::min(region.x + region.width + kMargin, image_.output_width);
    JDIMENSION width = right - left_;
    if (width < image_.output_width) jpeg_crop_scanline(&image_, &left_, &width);
    return true;
  }
  bool read_rows(const Region& region) noexcept {
    if (setjmp(failures_.back)) return false;
    if (region.y > 0) jpeg_skip_scanlines(&image_, region.y);
    const bool printed = image_.output_components == 4;
    for (std::uint32_t y = 0; y < region.height; ++y) {
      unsigned char* const row = rows_.data() + y * stride_;
      JSAMPROW into = printed ? inks_.data() : row;
      jpeg_read_scanlines(&image_, &into, 1);
      if (printed) to_rgb(into, image_.saw_Adobe_marker, image_.output_width, row);
    }
    return true;
  }

  bool refuse(DecodeError& error, const char* what) noexcept {
    std::snprintf(failures_.what, sizeof failures_.what, "%s", what);
    return fail(error);
  }
  /// At its end the source is replaced by one of two bytes that end the image: all was taken then.
  bool fail(DecodeError& error) noexcept {
    const std::size_t left = image_.src != nullptr ? image_.src->bytes_in_buffer : bytes_;
    error.set(left <= bytes_ ? bytes_ - left : bytes_, failures_.what);
    jpeg_abort_decompress(&image_);
    return false;
  }

  const DecodeLimits limits_;
  Failures failures_{};
  jpeg_decompress_struct image_{};
  jpeg_progress_mgr progress_{};
  std::size_t bytes_ = 0, stride_ = 0;
  JDIMENSION left_ = 0;  // the column where rows begin
  std::vector<unsigned char> rows_, inks_;
};

}  // namespace

std::unique_ptr<ImageDecoder> make_decoder(const DecodeLimits& limits) { return std::make_unique<Decoder>(limits); }

}  // namespace headrace::jpeg
