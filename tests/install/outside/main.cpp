// The README's program, and more of what the header offers.
#include <cstdio>
#include <heddle/heddle.hpp>
#include <vector>

int main() {
  auto world = heddle::Communicator::from_environment();
  std::vector<float> gradients(1 << 20, 1.0f);
  world.all_reduce(gradients, heddle::Op::sum);  // in place
  world.broadcast(gradients, 0);
  std::vector<float> received(gradients.size());
  heddle::group([&] {  // each rank to the next, and the last to the first
    world.send(gradients, (world.rank() + 1) % world.size());
    world.receive(received, (world.rank() + world.size() - 1) % world.size());
  });
  std::printf("rank %d of %d: %g\n", world.rank(), world.size(), received[0]);
}
