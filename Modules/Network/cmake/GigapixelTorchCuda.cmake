# The module GigapixelTorchCuda. The CUDA runtime has to be the one that LibTorch links: PyPI has it in a package beside.
get_filename_component(torch_libraries ${GIGAPIXEL_TORCH_CUDA_LIBRARY} DIRECTORY)
file(GLOB cuda_runtimes ${torch_libraries}/../../nvidia/cu*/lib ${torch_libraries}/../../nvidia/cuda_runtime/lib)
find_library(GIGAPIXEL_TORCH_C10_CUDA_LIBRARY c10_cuda HINTS ${torch_libraries})
find_library(GIGAPIXEL_TORCH_CUDART_LIBRARY NAMES libcudart.so.13 libcudart.so.12 cudart HINTS ${cuda_runtimes})
mark_as_advanced(GIGAPIXEL_TORCH_C10_CUDA_LIBRARY GIGAPIXEL_TORCH_CUDART_LIBRARY)
add_library(GigapixelTorchCuda MODULE src/torch/gigapixelTorchCuda.cxx)
target_link_libraries(GigapixelTorchCuda PRIVATE GigapixelTorch ${GIGAPIXEL_TORCH_CUDA_LIBRARY}
  ${GIGAPIXEL_TORCH_C10_CUDA_LIBRARY} ${GIGAPIXEL_TORCH_CUDART_LIBRARY})
target_include_directories(GigapixelTorchCuda SYSTEM PRIVATE ${GIGAPIXEL_CUDART_INCLUDE_DIR})
target_include_directories(GigapixelTorchCuda PRIVATE src src/torch)
target_compile_options(GigapixelTorchCuda PRIVATE -Wall -Wextra)
target_link_options(GigapixelTorchCuda PRIVATE LINKER:--no-as-needed) # nothing calls torch_cuda but LibTorch itself
set_target_properties(GigapixelTorchCuda PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ITKGigapixel
  INSTALL_RPATH $ORIGIN/..)
install(TARGETS GigapixelTorchCuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ITKGigapixel)
