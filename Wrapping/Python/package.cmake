# What the wheel holds beside ITK's wrapped modules.

# The package in Python, beside which CMake writes what it was built for.
get_property(torch_versions GLOBAL PROPERTY Gigapixel_TORCH_VERSIONS)
list(SORT torch_versions COMPARE NATURAL)
list(JOIN torch_versions "\", \"" Gigapixel_TORCH)
configure_file(itkgigapixel/built.py.in built.py @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/built.py DESTINATION itkgigapixel COMPONENT PythonWheelRuntimeLibraries)

# Licences of what the wheel contains: ours, ITK's, and those that Utilities/manylinux/prepare puts beside the codecs.
install(FILES ${Gigapixel_ROOT}/LICENSE DESTINATION itkgigapixel/licenses RENAME ITKGigapixel.txt
  COMPONENT PythonWheelRuntimeLibraries)
install(FILES ${ITK_CMAKE_DIR}/../LICENSE DESTINATION itkgigapixel/licenses RENAME ITK.txt
  COMPONENT PythonWheelRuntimeLibraries)
install(FILES ${ITK_CMAKE_DIR}/../NOTICE DESTINATION itkgigapixel/licenses RENAME ITK-notice.txt
  COMPONENT PythonWheelRuntimeLibraries)
foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
  file(GLOB texts ${prefix}/licenses/*.txt)
  install(FILES ${texts} DESTINATION itkgigapixel/licenses COMPONENT PythonWheelRuntimeLibraries)
endforeach()

# What ITK's readers, its reader of DICOM above all, bring with them. Some have their terms in a header or in a page.
foreach(file IN ITEMS DoubleConversion/src/LICENSE Eigen3/src/itkeigen/COPYING.MPL2 Expat/src/expat/COPYING
    GDCM/src/gdcm/Copyright.txt GDCM/src/gdcm/Utilities/gdcmcharls/License.txt
    GDCM/src/gdcm/Utilities/gdcmopenjpeg/LICENSE GDCM/src/gdcm/Utilities/gdcmjpeg/README
    GDCM/src/gdcm/Utilities/gdcmjpeg/COPYRIGHT.dcmtk GDCM/src/gdcm/Utilities/gdcmuuid/COPYING
    JPEG/src/itkjpeg/README KWSys/src/KWSys/Copyright.txt MetaIO/src/MetaIO/License.txt NIFTI/src/nifti/LICENSE
    NrrdIO/src/NrrdIO/NrrdIO.h.in PNG/src/itkpng/LICENSE TIFF/src/itktiff/COPYRIGHT
    VNL/src/vxl/core/vxl_copyright.h ZLIB/src/itkzlib-ng/zlib.h.in)
  string(REPLACE "/" "-" name ${file})
  install(FILES ${ITK_CMAKE_DIR}/../Modules/ThirdParty/${file} DESTINATION itkgigapixel/licenses RENAME ${name}
    COMPONENT PythonWheelRuntimeLibraries)
endforeach()

# The program, whole in itself but for PyTorch.
add_subdirectory(${Gigapixel_ROOT}/Wrapping/CommandLine rooms/CommandLine)
install(TARGETS gigapixel RUNTIME DESTINATION itkgigapixel/bin COMPONENT PythonWheelRuntimeLibraries)
# Arguments of Python's functions are made of the program's table of options.
add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/option_table.py VERBATIM
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/option_table.py $<TARGET_FILE:gigapixel> ${CMAKE_CURRENT_BINARY_DIR}/option_table.py
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/option_table.py gigapixel)
add_custom_target(GigapixelPythonOptions ALL DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/option_table.py)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/option_table.py DESTINATION itkgigapixel COMPONENT PythonWheelRuntimeLibraries)
if(TARGET GigapixelDicomReader)
  install(TARGETS GigapixelDicomReader RUNTIME DESTINATION itkgigapixel/bin/ITKGigapixel
    COMPONENT PythonWheelRuntimeLibraries)
endif()
# Beside each library or program that has the readers in it.
foreach(folder itk itkgigapixel/bin)
  install(TARGETS GigapixelOpenSlideReader RUNTIME DESTINATION ${folder}/ITKGigapixel
    COMPONENT PythonWheelRuntimeLibraries)
endforeach()
if(Gigapixel_BUILD_NETWORK)
  # What needs PyTorch, or a GPU, once for all libraries that have the engine in them.
  get_property(modules GLOBAL PROPERTY Gigapixel_TORCH_MODULES)
  if(TARGET GigapixelCuda)
    list(APPEND modules GigapixelCuda)
    # CUDA's runtime is in it.
    file(GLOB license ${GIGAPIXEL_CUDART_INCLUDE_DIR}/../../../nvidia_cuda_runtime-*.dist-info/License.txt
      ${GIGAPIXEL_CUDART_INCLUDE_DIR}/../../../nvidia_cuda_runtime-*.dist-info/licenses/License.txt)
    if(NOT license)
      message(FATAL_ERROR "CUDA's runtime goes into the wheel, and its licence (License.txt of PyPI's "
        "nvidia-cuda-runtime) was not found beside ${GIGAPIXEL_NVCC}: take PyPI's nvcc, or -DGigapixel_BUILD_CUDA=OFF")
    endif()
    install(FILES ${license} DESTINATION itkgigapixel/licenses RENAME CUDA.txt COMPONENT PythonWheelRuntimeLibraries)
  endif()
  install(TARGETS ${modules} LIBRARY DESTINATION itk/ITKGigapixel COMPONENT PythonWheelRuntimeLibraries)
endif()

# The command-line modules for 3D Slicer and slicer_cli_web. All are one program, which is large as a whole: once here, and
# for each module a script of its name.
add_subdirectory(${Gigapixel_ROOT}/Wrapping/Slicer/CLI rooms/SlicerModules)
set_target_properties(TissueLabel PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
install(PROGRAMS $<TARGET_FILE:TissueLabel> DESTINATION itkgigapixel/bin RENAME gigapixel-module
  COMPONENT PythonWheelRuntimeLibraries)
get_directory_property(modules DIRECTORY ${Gigapixel_ROOT}/Wrapping/Slicer/CLI DEFINITION modules)
install(FILES $<TARGET_FILE_DIR:TissueLabel>/slicer_cli_list.json DESTINATION itkgigapixel/bin
  COMPONENT PythonWheelRuntimeLibraries)
foreach(module IN LISTS modules)
  configure_file(module.sh.in ${CMAKE_CURRENT_BINARY_DIR}/modules/${module} @ONLY)
  install(PROGRAMS ${CMAKE_CURRENT_BINARY_DIR}/modules/${module} DESTINATION itkgigapixel/bin
    COMPONENT PythonWheelRuntimeLibraries)
  install(FILES $<TARGET_FILE_DIR:${module}>/${module}.xml DESTINATION itkgigapixel/bin
    COMPONENT PythonWheelRuntimeLibraries)
endforeach()

# Type stubs, made of what SWIG has written.
file(GLOB wrapped RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/wrapping CONFIGURE_DEPENDS wrapping/*.wrap wrapping/network/*.wrap)
list(TRANSFORM wrapped REPLACE ".*/" "")
list(TRANSFORM wrapped REPLACE "(.*)\\.wrap" "${ITK_DIR}/Wrapping/Generators/Python/itk/\\1Python.py")
install(CODE "execute_process(COMMAND_ERROR_IS_FATAL ANY
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/wrapping/stubs.py \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/itk ${wrapped})"
  COMPONENT PythonWheelRuntimeLibraries)

# In the wheel, wherever that is put together: ITK would keep the folder of the first time.
set(PY_SITE_PACKAGES_PATH "." CACHE STRING "Where the wheel's files go" FORCE)
