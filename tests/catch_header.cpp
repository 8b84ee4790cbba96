// Nothing but a source for CMake to precompile catch.hpp for; all tests reuse that.
