// Threads of the library: named, and deaf to the program's signals.
#pragma once

#include <functional>
#include <thread>

namespace heddle::base {

// `name` shows in debuggers; at most 15 characters. Fails with heddleSystemError.
std::thread start_thread(const char* name, std::function<void()> body);

}  // namespace heddle::base
