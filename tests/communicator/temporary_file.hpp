// A file for a setting that names one; gone with its owner.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

namespace heddle::test {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text = {}) {
    const int fd = mkstemp(path_.data());
    if (fd < 0) throw std::runtime_error("no temporary file " + path_);
    close(fd);
    std::ofstream(path_) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/heddle-test-XXXXXX";
};

}  // namespace heddle::test
