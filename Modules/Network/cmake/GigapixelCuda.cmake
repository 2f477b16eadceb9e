# The module GigapixelCuda, by a command of its own: CMake's language CUDA wants a whole toolkit, and newer compilers than
# this CMake knows work as well.
if(POLICY CMP0116)
  cmake_policy(SET CMP0116 NEW)
endif()
if(NOT GIGAPIXEL_NVCC)
  message(FATAL_ERROR "Gigapixel_BUILD_CUDA needs nvcc: apt-get install nvidia-cuda-toolkit, or pip install "
    "nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-crt nvidia-nvvm nvidia-cuda-cccl and -DGIGAPIXEL_NVCC=<its nvcc>")
endif()
get_filename_component(cuda_root ${GIGAPIXEL_NVCC} REALPATH)
get_filename_component(cuda_root ${cuda_root}/../.. ABSOLUTE)
find_path(GIGAPIXEL_CUDART_INCLUDE_DIR cuda_runtime.h HINTS ${cuda_root}/include PATHS /usr/include)
find_library(GIGAPIXEL_CUDART_LIBRARY NAMES cudart_static HINTS ${cuda_root}/lib64 ${cuda_root}/lib)
mark_as_advanced(GIGAPIXEL_CUDART_INCLUDE_DIR GIGAPIXEL_CUDART_LIBRARY)
if(NOT GIGAPIXEL_CUDART_INCLUDE_DIR OR NOT GIGAPIXEL_CUDART_LIBRARY)
  message(FATAL_ERROR "CUDA's runtime (cuda_runtime.h, libcudart_static.a) was not found beside ${GIGAPIXEL_NVCC}")
endif()

set(cuda_targets "")
foreach(architecture IN LISTS Gigapixel_CUDA_ARCHITECTURES)
  list(APPEND cuda_targets -gencode=arch=compute_${architecture},code=sm_${architecture})
endforeach()
list(GET Gigapixel_CUDA_ARCHITECTURES -1 newest)
list(APPEND cuda_targets -gencode=arch=compute_${newest},code=compute_${newest})

set(cuda_source ${CMAKE_CURRENT_SOURCE_DIR}/src/device/gigapixelCudaModule.cu)
set(cuda_object ${CMAKE_CURRENT_BINARY_DIR}/gigapixelCudaModule.o)
add_custom_command(OUTPUT ${cuda_object}
  COMMAND ${GIGAPIXEL_NVCC} -std=c++17 -O3 ${cuda_targets} -Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wno-unknown-pragmas
    -I${GIGAPIXEL_CUDART_INCLUDE_DIR} "-I$<JOIN:$<TARGET_PROPERTY:GigapixelNetwork,INCLUDE_DIRECTORIES>,;-I>"
    -MD -MF ${cuda_object}.d -c ${cuda_source} -o ${cuda_object}
  DEPENDS ${cuda_source} DEPFILE ${cuda_object}.d
  COMMENT "Building CUDA object ${cuda_object}" COMMAND_EXPAND_LISTS VERBATIM)
add_library(GigapixelCuda MODULE ${cuda_object})
set_target_properties(GigapixelCuda PROPERTIES
  LINKER_LANGUAGE CXX
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ITKGigapixel
  INSTALL_RPATH $ORIGIN/..)
target_link_libraries(GigapixelCuda PRIVATE GigapixelNetwork ${GIGAPIXEL_CUDART_LIBRARY} Threads::Threads
  ${CMAKE_DL_LIBS} rt)
install(TARGETS GigapixelCuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ITKGigapixel)
