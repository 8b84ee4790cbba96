#include "table/sizes.hpp"

namespace heddle::table {

std::vector<std::size_t> size_steps(std::size_t min, std::size_t max, std::size_t step,
                                    std::size_t factor) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = min; size <= max;) {
    sizes.push_back(size);
    const std::size_t next = factor > 1 ? size * factor : size + step;
    if (next <= size) break;  // 0 times a factor, a step of 0, or past the largest number
    size = next;
  }
  return sizes;
}

std::size_t part_count(std::size_t bytes, std::size_t element_bytes, std::size_t parts) {
  const std::size_t count = bytes / element_bytes;
  if (parts <= 1) return count;
  const std::size_t granule = 16 / element_bytes;
  return count / parts / granule * granule;
}

}  // namespace heddle::table
