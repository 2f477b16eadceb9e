# Makes the imported target GigapixelTorch: LibTorch's CPU libraries and headers, 1.13 (Debian) to 2.15 (PyPI).
# TorchConfig.cmake is only asked where it is: in a CUDA build it demands the whole CUDA toolkit, of which the engine
# needs nothing. Other places: -DTorch_DIR, -DTorch_ROOT or -DCMAKE_PREFIX_PATH.
get_filename_component(torch_prefix "${Torch_DIR}/../../.." ABSOLUTE)
if(NOT Torch_DIR)
  set(torch_prefix "")
endif()
find_path(GIGAPIXEL_TORCH_INCLUDE_DIR ATen/ATen.h HINTS ${torch_prefix} ${Torch_ROOT} PATH_SUFFIXES include)
find_library(GIGAPIXEL_TORCH_CPU_LIBRARY torch_cpu HINTS ${torch_prefix} ${Torch_ROOT} PATH_SUFFIXES lib)
find_library(GIGAPIXEL_TORCH_C10_LIBRARY c10 HINTS ${torch_prefix} ${Torch_ROOT} PATH_SUFFIXES lib)
mark_as_advanced(GIGAPIXEL_TORCH_INCLUDE_DIR GIGAPIXEL_TORCH_CPU_LIBRARY GIGAPIXEL_TORCH_C10_LIBRARY)
if(NOT GIGAPIXEL_TORCH_INCLUDE_DIR OR NOT GIGAPIXEL_TORCH_CPU_LIBRARY OR NOT GIGAPIXEL_TORCH_C10_LIBRARY)
  message(FATAL_ERROR "LibTorch was not found, which networks of any operations need. Debian: apt-get install libtorch-dev; "
    "another LibTorch: -DTorch_DIR=<its folder>/share/cmake/Torch; or leave them out with -DGigapixel_BUILD_TORCH=OFF.")
endif()

# gigapixel_add_torch(<target> <folder of headers> <library>...): sets <target>_VERSION, such as 2.15.
function(gigapixel_add_torch target headers)
  # Later versions have the numbers in a header of their own, which the old one includes.
  set(version_header ${headers}/torch/headeronly/version.h)
  if(NOT EXISTS ${version_header})
    set(version_header ${headers}/torch/csrc/api/include/torch/version.h)
  endif()
  file(STRINGS ${version_header} version REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
  string(REGEX REPLACE "[^0-9;]" "" version "${version}")
  string(REPLACE ";" "." version "${version}")
  set(${target}_VERSION ${version} PARENT_SCOPE)
  message(STATUS "LibTorch ${version}: ${ARGN}")

  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${headers} ${headers}/torch/csrc/api/include)
  target_link_libraries(${target} INTERFACE ${ARGN})
  target_link_options(${target} INTERFACE LINKER:--allow-shlib-undefined)
  if(version VERSION_GREATER_EQUAL 2.10)
    target_compile_features(${target} INTERFACE cxx_std_20)
  endif()
endfunction()

gigapixel_add_torch(GigapixelTorch ${GIGAPIXEL_TORCH_INCLUDE_DIR} ${GIGAPIXEL_TORCH_CPU_LIBRARY} ${GIGAPIXEL_TORCH_C10_LIBRARY})

# LibTorch, which only networks of any operations and the tests need: a module that is loaded then. LibTorch's C++ interface
# changes with each minor version, so that each has a module of its own.
set(Gigapixel_OTHER_TORCH "" CACHE STRING "Folders of further LibTorch of other minor versions (as Torch_ROOT), with which the engine is to run, too; jobs are of one process then")
file(GLOB torch_sources CONFIGURE_DEPENDS src/execute/torch/*.cxx src/execute/torch/operations/*.cxx)
function(gigapixel_add_torch_module target torch)
  get_property(versions GLOBAL PROPERTY Gigapixel_TORCH_VERSIONS)
  if(${torch}_VERSION IN_LIST versions)
    message(FATAL_ERROR "Gigapixel_OTHER_TORCH: LibTorch ${${torch}_VERSION} is there twice. Name one folder for each minor version.")
  endif()
  add_library(${target} MODULE ${torch_sources})
  target_link_libraries(${target} PRIVATE GigapixelNetwork Gigapixel::System ${torch})
  target_include_directories(${target} PRIVATE src src/execute/torch)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  target_link_options(${target} PRIVATE LINKER:--no-undefined)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME GigapixelTorchPasses-${${torch}_VERSION}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ITKGigapixel
    INSTALL_RPATH $ORIGIN/..)
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ITKGigapixel)
  set_property(GLOBAL APPEND PROPERTY Gigapixel_TORCH_VERSIONS ${${torch}_VERSION})
  set_property(GLOBAL APPEND PROPERTY Gigapixel_TORCH_MODULES ${target})
endfunction()
gigapixel_add_torch_module(GigapixelTorchPasses GigapixelTorch)
foreach(folder IN LISTS Gigapixel_OTHER_TORCH)
  get_filename_component(folder ${folder} ABSOLUTE)
  string(MAKE_C_IDENTIFIER ${folder} name)
  if(NOT EXISTS ${folder}/lib/libtorch_cpu.so)
    message(FATAL_ERROR "Gigapixel_OTHER_TORCH: ${folder} has no lib/libtorch_cpu.so. Name the folder torch of an installation.")
  endif()
  gigapixel_add_torch(GigapixelTorch${name} ${folder}/include ${folder}/lib/libtorch_cpu.so ${folder}/lib/libc10.so)
  gigapixel_add_torch_module(GigapixelTorchPasses${name} GigapixelTorch${name})
  # A fifth of the time, most of which goes into LibTorch's headers. Two files have functions of the same names.
  set_target_properties(GigapixelTorchPasses${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  set_source_files_properties(src/execute/torch/operations/gigapixelGlobalPooling.cxx
    src/execute/torch/operations/gigapixelPooling.cxx PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endforeach()

# Several processes: a module that only a job of several ranks loads. c10d's header of Gloo wants Gloo's own headers.
find_path(GIGAPIXEL_GLOO_INCLUDE_DIR gloo/transport/device.h)
mark_as_advanced(GIGAPIXEL_GLOO_INCLUDE_DIR)
if(GIGAPIXEL_GLOO_INCLUDE_DIR AND NOT Gigapixel_OTHER_TORCH)
  add_library(GigapixelRanks MODULE src/ranks/gigapixelRankWatch.cxx src/ranks/gigapixelTorchRanks.cxx)
  target_link_libraries(GigapixelRanks PRIVATE GigapixelNetwork GigapixelTorch Threads::Threads)
  target_include_directories(GigapixelRanks SYSTEM PRIVATE ${GIGAPIXEL_GLOO_INCLUDE_DIR})
  target_compile_definitions(GigapixelRanks PRIVATE USE_DISTRIBUTED USE_C10D_GLOO)
  target_compile_options(GigapixelRanks PRIVATE -Wall -Wextra)
  set_target_properties(GigapixelRanks PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ITKGigapixel
    INSTALL_RPATH $ORIGIN/..)
  install(TARGETS GigapixelRanks LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ITKGigapixel)
else()
  message(STATUS "Jobs are of one process: Gloo's headers (Debian: libgloo-dev) and one LibTorch are needed for several")
endif()
