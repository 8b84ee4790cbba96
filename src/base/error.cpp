#include "base/error.hpp"

#include <system_error>

namespace heddle::base {

std::string errno_text(int error) { return std::generic_category().message(error); }

void fail_errno(int error, const std::string& what) {
  fail(heddleSystemError, "{}: {} (errno {})", what, errno_text(error), error);
}

void assertion_failed(const char* expression, const char* file, int line,
                      const std::string& values) {
  fail(heddleInternalError, "{}:{}: assertion {} failed{}{}; please report this", file, line,
       expression, values.empty() ? "" : ": ", values);
}

}  // namespace heddle::base
