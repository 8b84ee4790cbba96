# What `cmake --install` lays: headers, library, programs, a CMake package and heddle.pc. All of it
# is relocatable: nothing holds the prefix.
include(CMakePackageConfigHelpers)

if(NOT TARGET heddle)
  return()
endif()

# 0.x promises nothing between minor versions, but NCCL-shaped programs keep running: the SONAME
# follows the major version alone.
set_target_properties(heddle PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_include_directories(heddle INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_features(heddle INTERFACE cxx_std_20)

install(DIRECTORY include/heddle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS heddle EXPORT heddle
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Builds what is installed, and nothing else.
add_custom_target(installed)
add_dependencies(installed heddle)
foreach(plugin nccl-tuner-heddle nccl_net_heddle)
  if(TARGET ${plugin})
    add_dependencies(installed ${plugin})
  endif()
endforeach()

# Programs find the library beside them, wherever the prefix is moved.
file(RELATIVE_PATH heddle_library_from_programs
     ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
foreach(program heddle-info heddle-schedule heddle-sim heddle-tune nccl_net_check
        ${heddle_benchmarks})
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES
      INSTALL_RPATH "$ORIGIN/${heddle_library_from_programs}")
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    add_dependencies(installed ${program})
  endif()
endforeach()

# find_package(heddle) -> heddle::heddle. What the library links is its own affair: a program that
# uses it needs none of fmt, hwloc, libfabric or libsodium to build.
set(heddle_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
install(EXPORT heddle NAMESPACE heddle:: FILE heddle-targets.cmake
        DESTINATION ${heddle_package_folder})
add_library(heddle::heddle ALIAS heddle)
configure_package_config_file(cmake/heddle-config.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/heddle-config.cmake INSTALL_DESTINATION ${heddle_package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/heddle-config-version.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/heddle-config.cmake
              ${PROJECT_BINARY_DIR}/cmake/heddle-config-version.cmake
        DESTINATION ${heddle_package_folder})

file(RELATIVE_PATH heddle_prefix_from_pc
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/heddle.pc.in ${PROJECT_BINARY_DIR}/cmake/heddle.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/heddle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
