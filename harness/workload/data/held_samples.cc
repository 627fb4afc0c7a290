#include "harness/workload/data/held_samples.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "harness/backends/decode/drawn_sample.h"
#include "harness/base/error.h"
#include "harness/base/system/unique_fd.h"

namespace headrace {

HeldSamples::HeldSamples(Params& p)
    : path_(p.path("path", "your own samples, a file each, read-only; not given: images are drawn")),
      images_(p.count("images", 64, {.min = 1, .max = 100'000}, "images that are drawn, of several sizes")),
      width_(p.count("width", 500, {.min = 16, .max = 16384}, "their mean width [pixels]; the height is 3/4 of it")),
      sample_size_(p.bytes("sample_size", 0, {.min = 0, .max = 16_MiB},
                           "their mean stored size, which then decides the width; 0B: width does")),
      quality_(p.count("quality", 90, {.min = 1, .max = 100}, "their quality, where the format loses something")),
      memory_(p.bytes("memory", 256_MiB, {.min = 1}, "most bytes of samples that are held: the first ones in order")),
      skip_(p.choice("on_error", "fail", {"skip", "fail"}, "of a sample that cannot be decoded: skip counts it") ==
            "skip") {}

std::uint64_t HeldSamples::memory_bytes() const {
  return !path_.empty() ? memory_ : images_ * std::max(width_ * width_ / 4, sample_size_);
}

void HeldSamples::hold(Node& node, const DataProgress& progress, const Codec& codec, decode::SampleDecoder& decoder) {
  samples_.clear();
  names_.clear();
  bad_.clear();
  bad_count_ = left_ = 0;
  if (path_.empty()) {
    const int quality = static_cast<int>(quality_);
    const std::uint32_t width =
        sample_size_ > 0 ? decode::width_for(codec, sample_size_, quality) : static_cast<std::uint32_t>(width_);
    for (std::uint64_t i = 0; i < images_; ++i)
      keep(decode::draw_sample(codec, i, width, quality), fmt::format("image {}", i), decoder);
  } else {
    load(node, progress, decoder);
  }
  if (samples_.empty()) throw RunError(fmt::format("{}: no sample can be decoded: {}", path_, bad_.front()));
}

void HeldSamples::leave_out(std::size_t index, const std::string& why) {
  refuse(fmt::format("{}: {}", names_[index], why));
  const auto at = static_cast<std::ptrdiff_t>(index);
  samples_.erase(samples_.begin() + at);
  names_.erase(names_.begin() + at);
  if (samples_.empty()) throw RunError(fmt::format("{}: no sample can be decoded: {}", path_, bad_.front()));
}

void HeldSamples::keep(std::vector<unsigned char> stored, const std::string& name, decode::SampleDecoder& decoder) {
  Sample sample{.stored = std::move(stored)};
  if (decoder.run_whole(sample.stored, sample.pixels)) {
    samples_.push_back(std::move(sample));
    names_.push_back(name);
    return;
  }
  refuse(fmt::format("{} at offset {}: {}", name, decoder.error().offset, decoder.error().what.data()));
}

void HeldSamples::refuse(const std::string& what) {
  if (!skip_) throw RunError("decode " + what + "; on_error: skip leaves such samples out and counts them");
  if (bad_count_++ < kNamed) bad_.push_back(what);
}

void HeldSamples::load(Node& node, const DataProgress& progress, decode::SampleDecoder& decoder) {
  const std::shared_ptr<DataSet> data = DataSet::open({.path = path_, .images = decoder.images()}, node, progress);
  const FileTable& files = data->files();
  std::uint64_t held = 0;
  // Data sets leave such files out; of samples they are bad ones.
  for (const std::string& name : data->empty_files()) refuse(files.root() + "/" + name + ": the file is empty");
  not_read_ = data->left_out();
  for (std::uint32_t i = 0; i < files.count(); ++i) {
    if (i > 0 && held + files.size(i) > memory_) {
      left_ = files.count() - i;
      break;
    }
    held += files.size(i);
    const system::UniqueFd file(::openat(files.root_fd(), files.path(i), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) throw system_error("open", files.full_path(i), errno);
    std::vector<unsigned char> stored(files.size(i));
    for (std::size_t got = 0; got < stored.size();) {
      const ssize_t n = ::pread(file.get(), stored.data() + got, stored.size() - got, static_cast<off_t>(got));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw system_error("read", files.full_path(i), got, errno);
      if (n == 0) stored.resize(got);
      got += static_cast<std::size_t>(n);
    }
    keep(std::move(stored), files.full_path(i), decoder);
  }
}

void HeldSamples::report(std::vector<std::string>& notes) const {
  if (bad_count_ > 0)
    notes.push_back(fmt::format("cannot be decoded and left out: {} of the samples: {}{}", bad_count_,
                                fmt::join(bad_, "; "), bad_count_ > bad_.size() ? "; and more" : ""));
  for (const auto& [why, count] : not_read_) notes.push_back(fmt::format("files not read: {} ({})", count, why));
  if (left_ > 0)
    notes.push_back(fmt::format("{} files are held in memory, and {} more are not: memory: SIZE holds more",
                                samples_.size(), left_));
}

}  // namespace headrace
