# The few shapes that every room's CMakeLists.txt shares.
include(GenerateExportHeader)
include(CMakePackageConfigHelpers)

# ITK's own build and the Python package take the rooms as static libraries.
if(NOT DEFINED Gigapixel_LIBRARY_TYPE)
  set(Gigapixel_LIBRARY_TYPE SHARED)
endif()

# Makes the imported target Gigapixel::ITK of the header folders of the ITK that was found; the libraries are named by
# each room, so that none is linked that is not used.
function(gigapixel_import_itk)
  add_library(GigapixelITK INTERFACE)
  add_library(Gigapixel::ITK ALIAS GigapixelITK)
  target_include_directories(GigapixelITK SYSTEM INTERFACE "$<BUILD_INTERFACE:${ITK_INCLUDE_DIRS}>")
  target_compile_features(GigapixelITK INTERFACE cxx_std_17)
  set_target_properties(GigapixelITK PROPERTIES EXPORT_NAME ITK)
  install(TARGETS GigapixelITK EXPORT GigapixelTargets)
endfunction()

# gigapixel_add_library(<room> SOURCES ... [PUBLIC targets] [PRIVATE targets] [HEADER_ONLY])
# Library Gigapixel<room>, alias Gigapixel::<room>, headers from include/ (installed), an export header
# Gigapixel<room>Export.h beside them.
function(gigapixel_add_library room)
  cmake_parse_arguments(ARG "HEADER_ONLY" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  set(name Gigapixel${room})
  set(generated ${CMAKE_BINARY_DIR}/include/${room})
  if(ARG_HEADER_ONLY)
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(${name} ${Gigapixel_LIBRARY_TYPE} ${ARG_SOURCES})
    set(scope PUBLIC)
    generate_export_header(${name} BASE_NAME ${name} EXPORT_MACRO_NAME ${name}_EXPORT
      EXPORT_FILE_NAME ${generated}/${name}Export.h)
    install(FILES ${generated}/${name}Export.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ITKGigapixel)
    set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    target_compile_options(${name} PRIVATE -Wall -Wextra)
    target_link_libraries(${name} PRIVATE ${ARG_PRIVATE})
    # The Python package makes one shared library of the static ones: each exports what it would export alone.
    if(Gigapixel_EXPORT_OF_STATIC)
      target_compile_definitions(${name} PUBLIC "${name}_EXPORT=__attribute__((visibility(\"default\")))")
    endif()
  endif()
  add_library(Gigapixel::${room} ALIAS ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${room})
  target_include_directories(${name} ${scope}
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${generated}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/ITKGigapixel>)
  target_link_libraries(${name} ${scope} ${ARG_PUBLIC})
  if(NOT room STREQUAL "System")
    target_link_libraries(${name} ${scope} Gigapixel::System) # whose exceptions all of them throw
  endif()
  install(TARGETS ${name} EXPORT GigapixelTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ITKGigapixel)
endfunction()

# gigapixel_add_gtest(<name> [SUITES] SOURCES ... LINK targets...): one GoogleTest program, each of its tests known to
# ctest, or with SUITES each suite: a program that loads LibTorch takes most of a second to start.
function(gigapixel_add_gtest name)
  cmake_parse_arguments(ARG "SUITES" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main Threads::Threads)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/Testing)
  # Tests are compiled once and run once: -O3 of them takes a third longer than it saves.
  target_compile_options(${name} PRIVATE -Wall -Wextra $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(${name} PRIVATE GIGAPIXEL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(ARG_SUITES)
    set(suites ${CMAKE_CURRENT_BINARY_DIR}/${name}-suites.cmake)
    add_custom_command(TARGET ${name} POST_BUILD BYPRODUCTS ${suites} VERBATIM
      COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}> -DFILE=${suites} -DTIMEOUT=3600
        -P ${PROJECT_SOURCE_DIR}/Utilities/cmake/GigapixelDiscoverSuites.cmake)
    set(include ${CMAKE_CURRENT_BINARY_DIR}/${name}-include.cmake)
    file(WRITE ${include} "if(EXISTS \"${suites}\")\n  include(\"${suites}\")\nelse()\n"
      "  add_test(${name}_NOT_BUILT ${name}_NOT_BUILT)\nendif()\n") # which fails
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
    return()
  endif()
  # Names by what the tests call their parameters, not by the parameters' values: of a struct those are bytes and
  # addresses, other ones in each run.
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 900)
endfunction()

function(gigapixel_install_package)
  set(destination ${CMAKE_INSTALL_LIBDIR}/cmake/ITKGigapixel)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/Utilities/cmake/ITKGigapixelConfig.cmake.in
    ${CMAKE_BINARY_DIR}/ITKGigapixelConfig.cmake INSTALL_DESTINATION ${destination})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/ITKGigapixelConfigVersion.cmake COMPATIBILITY SameMajorVersion)
  install(EXPORT GigapixelTargets NAMESPACE Gigapixel:: DESTINATION ${destination})
  install(FILES ${CMAKE_BINARY_DIR}/ITKGigapixelConfig.cmake ${CMAKE_BINARY_DIR}/ITKGigapixelConfigVersion.cmake
    DESTINATION ${destination})
endfunction()
