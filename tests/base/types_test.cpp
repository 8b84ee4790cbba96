#include "base/types.hpp"

#include "base/error.hpp"
#include "catch.hpp"

namespace heddle::base {

TEST_CASE("types and reductions have names both ways") {
  for (int i = 0; i < heddleNumTypes; ++i) {
    const auto type = static_cast<DataType>(i);
    CHECK(data_type_named(name_of(type)) == type);
    CHECK(size_of(type) > 0);
  }
  CHECK(data_type_named("float32") == heddleFloat32);
  CHECK(data_type_named("floot") == std::nullopt);
  CHECK(size_of(heddleNumTypes) == 0);
  CHECK(size_of(static_cast<DataType>(-1)) == 0);
  CHECK(name_of(static_cast<DataType>(99)) == "invalid");
  for (int i = 0; i < heddleNumOps; ++i)
    CHECK(red_op_named(name_of(static_cast<RedOp>(i))) == static_cast<RedOp>(i));
  CHECK(red_op_named("median") == std::nullopt);
}

TEST_CASE("an assertion prints its values") {
  const int slots = 3;
  try {
    HEDDLE_ASSERT(slots > 4, "slots is {}", slots);
    FAIL("did not fail");
  } catch (const Error& error) {
    CHECK(error.code() == heddleInternalError);
    CHECK(std::string(error.what()).find("slots > 4 failed: slots is 3") != std::string::npos);
  }
}

}  // namespace heddle::base
