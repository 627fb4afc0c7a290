// Of GPUs that are host memory: what libraries do beside the driver. Files are read, matrices multiplied and images decoded by
// the host, when the stream gets there. Part of host_gpu.h.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "harness/backends/open_files.h"
#include "tests/unit/host_gpu.h"
#include "workloads/gpu/matrices.h"

namespace headrace::testing {

/// Reads files with pread into memory that plays a GPU's.
class HostFileReader final : public GpuFileReader {
 public:
  HostFileReader(const FileTable& files, std::span<const std::uint32_t> selected, const GpuMemory& memory)
      : memory_(memory), files_(files, selected, ReaderOptions{}) {}
  std::int64_t read(std::uint32_t file, std::uint64_t offset, std::uint64_t length,
                    std::uint64_t to) noexcept override {
    const ssize_t got = ::pread(files_[file], memory_.begin() + to, length, static_cast<off_t>(offset));
    return got < 0 ? -errno : got;
  }
  std::unique_ptr<GpuReadBatch> batch(unsigned most) override { return std::make_unique<Batch>(*this, most); }
  void queue(GpuRead& read, GpuStream&) override { take(read); }
  std::string mode() const override { return "by the test"; }

 private:
  /// Reads when it is waited for.
  class Batch final : public GpuReadBatch {
   public:
    Batch(HostFileReader& reader, unsigned most) : reader_(reader), most_(most) {}
    void begin(std::span<GpuRead> reads) override {
      if (reads.size() > most_ || !reads_.empty()) throw std::logic_error("more than the batch was made for");
      reads_ = reads;
    }
    void end() override {
      for (GpuRead& read : reads_) reader_.take(read);
      reads_ = {};
    }

   private:
    HostFileReader& reader_;
    const unsigned most_;
    std::span<GpuRead> reads_;
  };
  void take(GpuRead& r) { r.result = read(r.file, r.offset, r.length, r.to); }

  const GpuMemory& memory_;
  OpenFiles files_;
};

/// By the host, when the stream gets there.
class HostGpuBackend::HostMultiplier final : public GpuMultiplier {
 public:
  HostMultiplier(Device& device, Stream& stream, const GpuMatrices& matrices)
      : device_(device), stream_(stream), matrices_(matrices) {}
  void multiply(unsigned char* product) override {
    const std::lock_guard lock(device_.owner.mutex_);
    device_.check();
    Work work;
    work.run = [this, product](std::uint64_t free_ns) {
      if (!device_.owner.settings_.hollow) compute(product);
      if (products_ > device_.settings.product_hangs_after) return kNever;
      device_.busy_ns += device_.settings.product_ns;
      return free_ns + device_.settings.product_ns;
    };
    stream_.queue(std::move(work));
  }
  void compare(const unsigned char* product) override {
    const std::lock_guard lock(device_.owner.mutex_);
    Work work;
    work.run = [this, product](std::uint64_t free_ns) {
      const std::size_t width = result_bytes_of(matrices_.number);
      std::uint64_t differ = 0;
      for (std::size_t i = 0; !device_.owner.settings_.hollow && i < std::size_t{matrices_.size} * matrices_.size; ++i)
        differ += std::memcmp(product + i * width, matrices_.first + i * width, width) != 0;
      differing_ += differ;
      return free_ns;
    };
    stream_.queue(std::move(work));
  }
  std::uint64_t differing() const override { return differing_; }
  std::string library() const override { return "by the test"; }

 private:
  void compute(unsigned char* product) {
    const std::size_t n = matrices_.size, width = bytes_of(matrices_.number);
    const auto value = [&](const unsigned char* matrix, std::size_t at) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, matrix + at * width, width);
      return gpu::matrix_value(matrices_.number, bits);
    };
    const auto put = [&](std::size_t at, double sum) {
      if (matrices_.number == GpuNumber::fp64)
        reinterpret_cast<double*>(product)[at] = sum;
      else
        reinterpret_cast<float*>(product)[at] = static_cast<float>(sum);
    };
    const bool by_rows = first_by_rows(matrices_.number);
    for (std::size_t column = 0; column < n; ++column)
      for (std::size_t row = 0; row < n; ++row) {
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k)
          sum += value(matrices_.a, by_rows ? k + row * n : row + k * n) * value(matrices_.b, k + column * n);
        put(row + column * n, sum);
      }
    const bool is_wrong = ++products_ > device_.settings.wrong_after &&
                          (products_ - device_.settings.wrong_after - 1) % device_.settings.wrong_each == 0;
    if (is_wrong) put(n + 1, 99);
  }

  Device& device_;
  Stream& stream_;
  GpuMatrices matrices_;
  std::uint64_t products_ = 0;
  std::atomic<std::uint64_t> differing_{0};
};

inline std::unique_ptr<GpuMultiplier> HostGpuBackend::Device::multiplier(GpuStream& stream,
                                                                         const GpuMatrices& matrices) {
  if (!settings.no_products.empty()) throw Unsupported(settings.no_products);
  return std::make_unique<HostMultiplier>(*this, static_cast<Stream&>(stream), matrices);
}

class HostGpuBackend::HostImageDecoder final : public GpuImageDecoder {
 public:
  HostImageDecoder(Device& device, Stream& stream, bool hardware)
      : device_(device), stream_(stream), hardware_(hardware) {}
  std::string size(GpuImage& image) override { return device_.settings.jpeg(image) ? "" : "no JPEG"; }
  void decode(std::span<const GpuImage> batch) override {
    const std::lock_guard lock(device_.owner.mutex_);
    device_.check();
    Work work;
    work.run = [this, images = std::vector<GpuImage>(batch.begin(), batch.end())](std::uint64_t free_ns) {
      for (GpuImage image : images) device_.settings.jpeg(image);
      return free_ns + images.size() * device_.settings.image_ns;
    };
    stream_.queue(std::move(work));
  }
  std::string library() const override { return hardware_ ? "by the test's decoders" : "by the test"; }

 private:
  Device& device_;
  Stream& stream_;
  const bool hardware_;
};

inline std::unique_ptr<GpuImageDecoder> HostGpuBackend::Device::image_decoder(GpuStream& stream, unsigned, unsigned,
                                                                              bool hardware) {
  if (hardware && !settings.no_hardware.empty()) throw Unsupported(settings.no_hardware);
  if (!settings.jpeg) throw Unsupported("these GPUs decode no images");
  return std::make_unique<HostImageDecoder>(*this, static_cast<Stream&>(stream), hardware);
}

inline std::unique_ptr<GpuFileReader> HostGpuBackend::Device::file_reader(const FileTable& files,
                                                                          std::span<const std::uint32_t> selected,
                                                                          const GpuMemory& memory) {
  touch();
  return std::make_unique<HostFileReader>(files, selected, memory);
}
}  // namespace headrace::testing
