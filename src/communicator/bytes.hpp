// Control messages as bytes: little-endian numbers and length-prefixed strings. The reader trusts
// nothing: anything short or oversized fails.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace heddle::communicator {

class Writer {
 public:
  Writer& u8(std::uint8_t value) { return raw(&value, sizeof value); }
  Writer& u32(std::uint32_t value) { return raw(&value, sizeof value); }
  Writer& i32(std::int32_t value) { return raw(&value, sizeof value); }
  Writer& u64(std::uint64_t value) { return raw(&value, sizeof value); }
  Writer& text(std::string_view value) {
    u32(static_cast<std::uint32_t>(value.size()));
    return raw(value.data(), value.size());
  }
  // By the type, for a list of fields.
  Writer& add(bool value) { return u32(value ? 1 : 0); }
  Writer& add(std::uint32_t value) { return u32(value); }
  Writer& add(std::int32_t value) { return i32(value); }
  Writer& add(std::uint64_t value) { return u64(value); }
  Writer& add(heddleResult_t value) { return u32(static_cast<std::uint32_t>(value)); }
  Writer& add(const std::string& value) { return text(value); }
  Writer& add(const std::vector<std::string>& values) {
    u32(static_cast<std::uint32_t>(values.size()));
    for (const auto& value : values) text(value);
    return *this;
  }
  const std::string& str() const { return bytes_; }

 private:
  Writer& raw(const void* data, std::size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    return *this;
  }
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::int32_t i32() { return number<std::int32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  std::string text() { return std::string(take(u32())); }
  void get(bool& value) { value = u32() != 0; }
  void get(std::uint32_t& value) { value = u32(); }
  void get(std::int32_t& value) { value = i32(); }
  void get(std::uint64_t& value) { value = u64(); }
  void get(heddleResult_t& value) { value = static_cast<heddleResult_t>(u32()); }
  void get(std::string& value) { value = text(); }
  void get(std::vector<std::string>& values) {
    values.clear();
    // One by one: the count is not to be trusted.
    for (std::uint32_t left = u32(); left > 0; --left) values.push_back(text());
  }
  void finish() const {
    if (!left_.empty())
      base::fail(heddleRemoteError, "malformed control message: {} bytes too many", left_.size());
  }

 private:
  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view take(std::size_t size) {
    if (size > left_.size())
      base::fail(heddleRemoteError, "malformed control message: {} bytes wanted, {} left", size,
                 left_.size());
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  std::string_view left_;
};

}  // namespace heddle::communicator
