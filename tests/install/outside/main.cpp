// The README's program.
#include <cstdio>
#include <heddle/heddle.hpp>
#include <vector>

int main() {
  auto world = heddle::Communicator::from_environment();
  std::vector<float> gradients(1 << 20, 1.0f);
  world.all_reduce(gradients, heddle::Op::sum);  // in place
  std::printf("rank %d of %d: %g\n", world.rank(), world.size(), gradients[0]);
}
