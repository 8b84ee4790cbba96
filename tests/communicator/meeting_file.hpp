// A unique id by a file: rank 0 writes it, the others wait for it. For ranks that are programs of
// their own.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "heddle/heddle.hpp"

namespace heddle::test {

inline UniqueId meet(int rank, const std::string& file) {
  if (rank == 0) {
    const auto id = UniqueId::make();
    std::ofstream(file + ".new") << id.to_string();
    std::filesystem::rename(file + ".new", file);
    return id;
  }
  for (int i = 0; i < 1000; ++i) {
    std::string text;
    if (std::getline(std::ifstream(file), text)) return UniqueId::from_string(text);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error("rank 0 wrote no unique id to " + file);
}

}  // namespace heddle::test
