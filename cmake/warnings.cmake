# Flags that every target of the project shares.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor
                    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
option(HEDDLE_WERROR "Treat warnings as errors" OFF)
if(HEDDLE_WERROR)
  add_compile_options(-Werror)
endif()
if(HEDDLE_SANITIZE)
  # -O1: instrumented code takes the compiler many times longer to optimise further.
  add_compile_options(-fsanitize=${HEDDLE_SANITIZE} -fno-omit-frame-pointer -g -O1)
  add_link_options(-fsanitize=${HEDDLE_SANITIZE})
  add_library(heddle_sanitizer_suppressions OBJECT
              ${CMAKE_CURRENT_LIST_DIR}/sanitizer_suppressions.cpp)
endif()

# heddle_sanitized(program ...): what a program of a sanitizer build links beside its own.
function(heddle_sanitized)
  if(HEDDLE_SANITIZE)
    foreach(program ${ARGN})
      target_sources(${program} PRIVATE $<TARGET_OBJECTS:heddle_sanitizer_suppressions>)
    endforeach()
  endif()
endfunction()
