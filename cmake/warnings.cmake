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
endif()
