// Files that a person names: regular ones are read, all else is refused at once, in words.
#include "base/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/error.hpp"
#include "base/parse_json.hpp"
#include "catch.hpp"
#include "support/base_errors.hpp"
#include "support/temporary_folder.hpp"

namespace heddle::base {
namespace {

using Catch::Matchers::Contains;

using test::error_of;

std::string read_error(const std::string& path) {
  return error_of([&] { read_file(path, "NAME=" + path); }, heddleInvalidArgument);
}

struct Folder : test::TemporaryFolder {
  std::string file() const { return path("file"); }
};

}  // namespace

TEST_CASE("a regular file is read whole") {
  const Folder folder;
  const std::string text = std::string(200'000, 'x') + '\0' + "end";
  std::ofstream(folder.file(), std::ios::binary) << text;
  CHECK(read_file(folder.file(), "name") == text);
  std::ofstream(folder.file(), std::ios::trunc);
  CHECK(read_file(folder.file(), "name").empty());
}

TEST_CASE("what is no regular file is refused, without waiting for it") {
  const Folder folder;
  CHECK(read_error(folder.file()) ==
        "NAME=" + folder.file() + ": cannot be read: " + "No such file or directory");
  CHECK_THAT(
      read_error(folder.path()),
      Contains("NAME=" + folder.path() + ": is a directory; a regular file of at most 64 MiB"));
  CHECK_THAT(read_error("/dev/zero"), Contains("/dev/zero: is a character device"));
  REQUIRE(mkfifo(folder.file().c_str(), 0600) == 0);
  CHECK_THAT(read_error(folder.file()), Contains("is a fifo"));
}

TEST_CASE("a file that is too long is refused") {
  const Folder folder;
  { std::ofstream file(folder.file()); }
  REQUIRE(truncate(folder.file().c_str(), (64 << 20) + 1) == 0);
  CHECK_THAT(read_error(folder.file()), Contains("is longer than 64 MiB"));
  REQUIRE(truncate(folder.file().c_str(), 64 << 20) == 0);
  CHECK(read_error(folder.file()) == "");
}

TEST_CASE("what a parser of JSON says comes with file, line and column") {
  const auto said = [](const std::string& text, std::size_t offset, const std::string& thrown) {
    return error_of([&] { fail_json(text, "mine.json", offset, thrown); }, heddleInvalidArgument);
  };
  const std::string syntax = "[json.exception.parse_error.101] parse error at line 2, column 4: ";
  CHECK(said("{\n  x", 4, syntax + "syntax error: what: is wrong") ==
        "mine.json, line 2, column 3: not JSON: syntax error: what: is wrong");
  CHECK(said("", 0, syntax + "a") == "mine.json, line 1, column 1: not JSON: a");
  CHECK(said("{\n", 99, syntax + "a") == "mine.json, line 2, column 1: not JSON: a");
  CHECK(said("[1e999]", 1, "[json.exception.out_of_range.406] number overflow") ==
        "mine.json, line 1, column 2: not JSON: number overflow");
  CHECK(said("x", 0, "in its own words") ==
        "mine.json, line 1, column 1: not JSON: in its own words");
}

}  // namespace heddle::base
