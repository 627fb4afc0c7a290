#include "harness/backends/cuda/nvjpeg.h"

#include "harness/base/error.h"

#if __has_include(<nvjpeg.h>)
#include <nvjpeg.h>

#include <string>
#include <vector>

#include "harness/backends/cuda/status.h"
#include "harness/backends/library.h"

namespace headrace::cuda {
namespace {

/// The functions used, found in the library; their binary interface is the same in CUDA 12 and 13.
struct JpegApi {
  decltype(&nvjpegGetProperty) property = nullptr;
  decltype(&nvjpegCreateEx) create = nullptr;
  decltype(&nvjpegDestroy) destroy = nullptr;
  decltype(&nvjpegJpegStateCreate) create_state = nullptr;
  decltype(&nvjpegJpegStateDestroy) destroy_state = nullptr;
  decltype(&nvjpegGetImageInfo) image_info = nullptr;
  decltype(&nvjpegDecodeBatchedInitialize) begin_batches = nullptr;
  decltype(&nvjpegDecodeBatched) decode = nullptr;
};

const JpegApi& jpeg_api() {
#if CUDART_VERSION >= 13000
  static const Library library{"libnvjpeg.so.13", "libnvjpeg.so.12", "/usr/local/cuda/lib64/libnvjpeg.so.13"};
#else
  static const Library library{"libnvjpeg.so.12", "libnvjpeg.so.13", "/usr/local/cuda/lib64/libnvjpeg.so.12"};
#endif
  if (!library)
    throw Unsupported(
        "libnvjpeg.so not found: install libnvjpeg, or name its folder in LD_LIBRARY_PATH (DALI and PyPI's "
        "nvidia-nvjpeg bring one along: nvidia/nvjpeg/lib)");
  static const JpegApi functions = [] {
    JpegApi found;
    const bool all = library.find("nvjpegGetProperty", found.property) &&
                     library.find("nvjpegCreateEx", found.create) && library.find("nvjpegDestroy", found.destroy) &&
                     library.find("nvjpegJpegStateCreate", found.create_state) &&
                     library.find("nvjpegJpegStateDestroy", found.destroy_state) &&
                     library.find("nvjpegGetImageInfo", found.image_info) &&
                     library.find("nvjpegDecodeBatchedInitialize", found.begin_batches) &&
                     library.find("nvjpegDecodeBatched", found.decode);
    if (!all) found.create = nullptr;
    return found;
  }();
  if (functions.create == nullptr) throw Unsupported("libnvjpeg.so lacks what CUDA 12 and later have");
  return functions;
}

const char* in_words(nvjpegStatus_t code) {
  switch (code) {
    case NVJPEG_STATUS_BAD_JPEG:
      return "no JPEG, or a damaged one";
    case NVJPEG_STATUS_JPEG_NOT_SUPPORTED:
      return "a kind of JPEG that it does not decode";
    case NVJPEG_STATUS_INCOMPLETE_BITSTREAM:
      return "the image ends early";
    case NVJPEG_STATUS_ALLOCATOR_FAILURE:
      return "no memory";
    case NVJPEG_STATUS_EXECUTION_FAILED:
      return "the GPU failed";
    case NVJPEG_STATUS_ARCH_MISMATCH:
      return "this GPU has no such decoder";
    case NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED:
      return "it cannot decode so";
    default:
      return "";
  }
}

std::string describe(nvjpegStatus_t code) {
  const std::string words = in_words(code);
  return (words.empty() ? "" : words + " ") + "(nvJPEG status " + std::to_string(static_cast<int>(code)) + ")";
}

class Decoder final : public GpuImageDecoder {
 public:
  Decoder(Device& device, Stream& stream, unsigned batch, unsigned host_threads, bool hardware)
      : api_(jpeg_api()), device_(device), stream_(stream), batch_(batch), hardware_(hardware) {
    device_.use();
    const nvjpegBackend_t by = hardware ? NVJPEG_BACKEND_HARDWARE : NVJPEG_BACKEND_DEFAULT;
    if (const nvjpegStatus_t code = api_.create(by, nullptr, nullptr, NVJPEG_FLAGS_DEFAULT, &handle_);
        code != NVJPEG_STATUS_SUCCESS) {
      if (hardware && code != NVJPEG_STATUS_ALLOCATOR_FAILURE)
        throw Unsupported(device_.name() + ": " + describe(code));
      throw RunError("start nvJPEG on " + device_.name() + ": " + describe(code));
    }
    try {
      expect(api_.create_state(handle_, &state_), "start nvJPEG on");
      expect(api_.begin_batches(handle_, state_, static_cast<int>(batch), static_cast<int>(host_threads),
                                NVJPEG_OUTPUT_RGBI),
             "set up batches on");
    } catch (...) {
      free();
      throw;
    }
    stored_.resize(batch);
    lengths_.resize(batch);
    to_.resize(batch);
  }
  ~Decoder() override { free(); }
  Decoder(const Decoder&) = delete;

  std::string size(GpuImage& image) override {
    device_.use();
    int components = 0, widths[NVJPEG_MAX_COMPONENT] = {}, heights[NVJPEG_MAX_COMPONENT] = {};
    nvjpegChromaSubsampling_t sampling{};
    const nvjpegStatus_t code =
        api_.image_info(handle_, image.stored.data(), image.stored.size(), &components, &sampling, widths, heights);
    if (code != NVJPEG_STATUS_SUCCESS) return describe(code);
    if (components != 1 && components != 3) return "it has " + std::to_string(components) + " components";
    image.width = static_cast<std::uint32_t>(widths[0]);
    image.height = static_cast<std::uint32_t>(heights[0]);
    return "";
  }

  void decode(std::span<const GpuImage> batch) override {
    device_.check();
    for (unsigned i = 0; i < batch_; ++i) {
      const GpuImage& image = batch[i];
      stored_[i] = image.stored.data();
      lengths_[i] = image.stored.size();
      to_[i] = {};
      to_[i].channel[0] = image.to;
      to_[i].pitch[0] = std::size_t{3} * image.width;
    }
    expect(api_.decode(handle_, state_, stored_.data(), lengths_.data(), to_.data(), stream_.handle()), "decode on");
  }

  std::string library() const override {
    int major = 0, minor = 0, patch = 0;
    api_.property(MAJOR_VERSION, &major);
    api_.property(MINOR_VERSION, &minor);
    api_.property(PATCH_LEVEL, &patch);
    return "nvJPEG " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch) +
           (hardware_ ? " by the decoders of the GPU" : " by host and GPU together");
  }

 private:
  void expect(nvjpegStatus_t code, const char* what) const {
    if (code == NVJPEG_STATUS_SUCCESS) return;
    cudaGetLastError();  // one that does not stick must not be found by the next call
    throw RunError(std::string(what) + " " + device_.name() + ": " + describe(code));
  }
  void free() noexcept {
    if (device_.given_up() || Device::any_given_up() || !device_.used()) return;
    if (state_) api_.destroy_state(state_);
    if (handle_) api_.destroy(handle_);
  }

  const JpegApi& api_;
  Device& device_;
  Stream& stream_;
  unsigned batch_;
  bool hardware_;
  nvjpegHandle_t handle_ = nullptr;
  nvjpegJpegState_t state_ = nullptr;
  std::vector<const unsigned char*> stored_;
  std::vector<std::size_t> lengths_;
  std::vector<nvjpegImage_t> to_;
};

}  // namespace

std::unique_ptr<GpuImageDecoder> make_image_decoder(Device& device, Stream& stream, unsigned batch,
                                                    unsigned host_threads, bool hardware) {
  return std::make_unique<Decoder>(device, stream, batch, host_threads, hardware);
}

}  // namespace headrace::cuda

#else

namespace headrace::cuda {

std::unique_ptr<GpuImageDecoder> make_image_decoder(Device&, Stream&, unsigned, unsigned, bool) {
  throw Unsupported("this build knew no nvJPEG: build with nvjpeg.h of the CUDA Toolkit");
}

}  // namespace headrace::cuda

#endif
