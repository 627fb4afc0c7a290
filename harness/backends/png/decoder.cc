// PNG decoded down to the last row of a region. A row is inflated as a whole, and interlaced images are, too.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <new>

#include "harness/backends/png/codec.h"

namespace headrace::png {
namespace {

/// The limit of one chunk without pixels: a compressed text may be a bomb, too.
constexpr png_alloc_size_t kMostOfChunk = 8 << 20;

/// libpng's memory, and where it jumps to when it fails: out of functions whose variables need no destructor.
struct Input {
  const unsigned char* data = nullptr;
  std::size_t size = 0, taken = 0;
  std::jmp_buf back;
  char what[160];
};

[[noreturn]] void jump_back(png_structp png, png_const_charp message) noexcept {
  auto* input = static_cast<Input*>(png_get_error_ptr(png));
  std::snprintf(input->what, sizeof input->what, "%s", message);
  std::longjmp(input->back, 1);
}
void ignore(png_structp, png_const_charp) noexcept {}
void take(png_structp png, png_bytep into, std::size_t bytes) noexcept {
  auto* input = static_cast<Input*>(png_get_io_ptr(png));
  if (bytes > input->size - input->taken) {
    input->taken = input->size;
    jump_back(png, "the file ends before the image does");
  }
  std::memcpy(into, input->data + input->taken, bytes);
  input->taken += bytes;
}

class Decoder final : public ImageDecoder {
 public:
  explicit Decoder(const DecodeLimits& limits) : limits_(limits) {}
  ~Decoder() override { close(); }
  Decoder(const Decoder&) = delete;

  bool open(std::span<const unsigned char> file, ImageSize& size, DecodeError& error) noexcept override {
    close();
    input_.data = file.data();
    input_.size = file.size();
    input_.taken = 0;
    if (!read_head()) return fail(error);
    size = {.width = png_get_image_width(png_, info_), .height = png_get_image_height(png_, info_)};
    if (size.pixels() <= limits_.pixels) return true;
    std::snprintf(input_.what, sizeof input_.what, "%u x %u pixels, and no more than %llu are decoded", size.width,
                  size.height, static_cast<unsigned long long>(limits_.pixels));
    return fail(error);
  }

  bool decode(const Region& region, unsigned, Pixels& pixels, DecodeError& error) noexcept override {
    const bool whole = png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE;
    const std::uint32_t height = png_get_image_height(png_, info_);
    stride_ = std::size_t{3} * png_get_image_width(png_, info_);
    const std::uint32_t kept = whole ? height : region.height;
    try {
      rows_.resize(stride_ * kept);
    } catch (const std::bad_alloc&) {
      std::snprintf(input_.what, sizeof input_.what, "there is no memory for its pixels");
      return fail(error);
    }
    if (!(whole ? read_all(height) : read_rows(region))) return fail(error);
    pixels = {.data = rows_.data() + (whole ? region.y * stride_ : 0) + std::size_t{3} * region.x,
              .stride = stride_,
              .width = region.width,
              .height = region.height};
    return true;
  }

 private:
  // Failures jump out of the next three.

  bool read_head() noexcept {
    if (setjmp(input_.back)) return false;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &input_, jump_back, ignore);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      std::snprintf(input_.what, sizeof input_.what, "there is no memory for libpng");
      return false;
    }
    png_set_chunk_malloc_max(png_, kMostOfChunk);
    png_set_read_fn(png_, &input_, take);
    png_read_info(png_, info_);
    return true;
  }
  bool read_rows(const Region& region) noexcept {
    if (setjmp(input_.back)) return false;
    as_rgb();
    png_read_update_info(png_, info_);
    for (std::uint32_t y = 0; y < region.y; ++y) png_read_row(png_, rows_.data(), nullptr);
    for (std::uint32_t y = 0; y < region.height; ++y) png_read_row(png_, rows_.data() + y * stride_, nullptr);
    return true;
  }
  bool read_all(std::uint32_t height) noexcept {
    if (setjmp(input_.back)) return false;
    as_rgb();
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    for (int pass = 0; pass < passes; ++pass)
      for (std::uint32_t y = 0; y < height; ++y) png_read_row(png_, rows_.data() + y * stride_, nullptr);
    return true;
  }
  /// As Pillow's convert("RGB"): palettes looked up, grey made three of, alpha dropped, 16 bits cut to 8.
  void as_rgb() noexcept {
    png_set_expand(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
  }

  void close() noexcept { png_destroy_read_struct(&png_, &info_, nullptr); }
  bool fail(DecodeError& error) noexcept {
    error.set(input_.taken, input_.what);
    close();
    return false;
  }

  const DecodeLimits limits_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  Input input_{};
  std::size_t stride_ = 0;
  std::vector<unsigned char> rows_;
};

}  // namespace

std::unique_ptr<ImageDecoder> make_decoder(const DecodeLimits& limits) { return std::make_unique<Decoder>(limits); }

}  // namespace headrace::png
