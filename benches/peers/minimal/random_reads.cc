// minimal_random_reads FILE BLOCK_SIZE READS - preads of aligned blocks at random places.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "benches/peers/minimal/minimal.h"

int main(int argc, char** argv) {
  if (argc != 4) return std::fputs("usage: minimal_random_reads FILE BLOCK_SIZE READS\n", stderr), 2;
  const int fd = open(argv[1], O_RDONLY);
  struct stat attributes;
  if (fd < 0 || fstat(fd, &attributes) != 0) minimal::fail(argv[1]);
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  const auto block = std::strtoull(argv[2], nullptr, 10), reads = std::strtoull(argv[3], nullptr, 10);
  const auto blocks = static_cast<std::uint64_t>(attributes.st_size) / block;
  unsigned char* const buffer = minimal::buffer(block);
  minimal::Random random;
  minimal::Result result;
  for (std::uint64_t i = 0; i < reads; ++i) {
    const std::uint64_t offset = random.below(blocks) * block, begin = minimal::now_ns();
    const ssize_t n = pread(fd, buffer, block, static_cast<off_t>(offset));
    if (n < 0) minimal::fail(argv[1]);
    result.add(begin, minimal::now_ns(), static_cast<std::uint64_t>(n));
  }
  result.print();
}
