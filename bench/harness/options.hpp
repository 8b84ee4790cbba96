// The command line: nccl-tests' flags and a few of ours.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/heddle.hpp"

namespace heddle::bench {

// How the ranks' times become the one that is printed (-a).
enum class Average { rank0 = 0, mean = 1, min = 2, max = 3 };

// How ranks wait for each other between timed operations (-z). Each waits for its own part of an
// operation in any case, so that `wait` adds nothing to `none`. The time of barriers counts, but
// for `each_iteration`.
enum class Blocking { none = 0, each_operation = 1, wait = 2, each_iteration = 3 };

struct Options {
  int ranks = 0;  // to fork; 0: not said
  std::size_t min_bytes = 32u << 20, max_bytes = 32u << 20, step_bytes = 1u << 20;
  std::size_t factor = 0;  // 0: step_bytes
  int iterations = 20, aggregate = 1, warmup = 1, cycles = 1;
  int check = 1;  // checked iterations; 0: off
  int root = 0;   // -1: every rank in turn
  Blocking blocking = Blocking::none;
  Average average = Average::mean;
  bool cpu_time = false, timestamps = false, registration = false;
  double timeout = 0;  // seconds without progress; 0: the library's
  std::vector<heddleDataType_t> types = {heddleFloat32};
  std::vector<Op> ops = {Op::sum};
  std::string provider, json, csv;
  std::string settings;                // more of the library's, as settings_of() returns them
  std::vector<std::string> arguments;  // as given
};

// Not a command line: `what()` is the text for the user and `status` the program's.
struct Usage : std::runtime_error {
  Usage(const std::string& text, int exit_status) : std::runtime_error(text), status(exit_status) {}
  int status;
};

// Throws Usage for a bad command line, and with status 0 for --help.
Options parse_options(const std::string& program, const std::vector<std::string>& arguments);

// The library's settings that the options ask for, "NAME=value NAME=value".
std::string settings_of(const Options& options);

}  // namespace heddle::bench
