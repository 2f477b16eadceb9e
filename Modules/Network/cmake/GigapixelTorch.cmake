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
  message(FATAL_ERROR "LibTorch was not found, which the engine (Gigapixel_BUILD_NETWORK) needs. Debian: apt-get install "
    "libtorch-dev; another LibTorch: -DTorch_DIR=<its folder>/share/cmake/Torch; or leave the engine out with "
    "-DGigapixel_BUILD_NETWORK=OFF.")
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
