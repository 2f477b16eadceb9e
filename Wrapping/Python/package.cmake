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

# All rooms are one library, which Python's modules, the programs and the engine's modules share.
add_subdirectory(${Gigapixel_ROOT}/Wrapping/Application rooms/Application)
add_subdirectory(${Gigapixel_ROOT}/Wrapping/CommandLine rooms/CommandLine)
add_library(GigapixelRooms SHARED)
foreach(room IN LISTS Gigapixel_ROOMS ITEMS Wrapping/Application)
  get_filename_component(room ${room} NAME)
  target_sources(GigapixelRooms PRIVATE $<TARGET_OBJECTS:Gigapixel${room}>)
  target_link_libraries(GigapixelRooms PRIVATE Gigapixel${room})
endforeach()
# The version is in its name, so that modules of another version do not load.
set_target_properties(GigapixelRooms PROPERTIES OUTPUT_NAME Gigapixel-${PROJECT_VERSION} LINKER_LANGUAGE CXX)
# Nobody else calls the parts of VXL, most of which nobody calls.
target_link_options(GigapixelRooms PRIVATE LINKER:--exclude-libs,libitkvnl-5.4.a:libitkvnl_algo-5.4.a:libITKVNLInstantiation-5.4.a:libitkv3p_netlib-5.4.a:libitkvcl-5.4.a)
install(TARGETS GigapixelRooms LIBRARY DESTINATION itk COMPONENT PythonWheelRuntimeLibraries)
# It comes first, so that the linker looks there before it looks into the static libraries, and counts as needed by what
# these ask for.
function(gigapixel_share_rooms)
  foreach(target ${ARGN})
    get_target_property(libraries ${target} LINK_LIBRARIES)
    set_target_properties(${target} PROPERTIES LINK_LIBRARIES "-Wl,--no-as-needed;GigapixelRooms;-Wl,--as-needed;${libraries}")
  endforeach()
endfunction()

set(Gigapixel_SHARED GigapixelRooms)
set(rpath $ORIGIN/../../itk)
gigapixel_share_rooms(gigapixel)
set_target_properties(gigapixel PROPERTIES INSTALL_RPATH ${rpath})
install(TARGETS gigapixel RUNTIME DESTINATION itkgigapixel/bin COMPONENT PythonWheelRuntimeLibraries)
# gigapixel_add_python_module(<name> <wrapped file of wrapping/> <libraries>...): itkgigapixel.<name> of <name>.i, beside the
# modules that ITK wraps. SWIG's table of types is not ITK's, which other versions of SWIG may have made.
find_package(Python3 COMPONENTS Interpreter Development.SABIModule REQUIRED)
function(gigapixel_add_python_module name depends)
  set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(wrapping ${PROJECT_SOURCE_DIR}/wrapping)
  add_custom_command(OUTPUT ${wrapper}.cxx ${wrapper}.py VERBATIM
    COMMAND ${SWIG_EXECUTABLE} -c++ -python -I${wrapping} -outdir ${CMAKE_CURRENT_BINARY_DIR} -o ${wrapper}.cxx
      ${CMAKE_CURRENT_SOURCE_DIR}/${name}.i
    DEPENDS ${name}.i ${wrapping}/${depends} ${wrapping}/Refusals.swg)
  set(module GigapixelPython_${name})
  add_library(${module} MODULE ${wrapper}.cxx)
  set_target_properties(${module} PROPERTIES PREFIX "" OUTPUT_NAME _${name} SUFFIX .abi3.so INSTALL_RPATH $ORIGIN/../itk)
  target_include_directories(${module} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${Python3_INCLUDE_DIRS})
  target_compile_definitions(${module} PRIVATE Py_LIMITED_API=0x030b0000 SWIG_TYPE_TABLE=gigapixel)
  target_compile_options(${module} PRIVATE -w) # SWIG's code
  target_link_libraries(${module} PRIVATE ${ARGN} ${CMAKE_DL_LIBS})
  gigapixel_share_rooms(${module})
  install(TARGETS ${module} LIBRARY DESTINATION itkgigapixel COMPONENT PythonWheelRuntimeLibraries)
  install(FILES ${wrapper}.py DESTINATION itkgigapixel COMPONENT PythonWheelRuntimeLibraries)
endfunction()
add_subdirectory(application)
add_subdirectory(reader)
# Arguments of Python's functions are made of the program's table of options.
add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/option_table.py VERBATIM
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/option_table.py $<TARGET_FILE:gigapixel> ${CMAKE_CURRENT_BINARY_DIR}/option_table.py
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/option_table.py gigapixel)
add_custom_target(GigapixelPythonOptions ALL DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/option_table.py)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/option_table.py DESTINATION itkgigapixel COMPONENT PythonWheelRuntimeLibraries)
if(TARGET GigapixelDicomReader)
  install(TARGETS GigapixelDicomReader RUNTIME DESTINATION itk/ITKGigapixel COMPONENT PythonWheelRuntimeLibraries)
endif()
install(TARGETS GigapixelOpenSlideReader RUNTIME DESTINATION itk/ITKGigapixel COMPONENT PythonWheelRuntimeLibraries)
if(Gigapixel_BUILD_NETWORK AND Gigapixel_BUILD_TORCH)
  # What needs PyTorch, or a GPU, is a wheel of its own (torch/pyproject.toml).
  set(licenses ${Gigapixel_ROOT}/LICENSE)
  foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
    file(GLOB texts ${prefix}/licenses/libstdc++.txt)
    list(APPEND licenses ${texts})
  endforeach()
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
    install(FILES ${license} DESTINATION itkgigapixel/licenses/torch RENAME CUDA.txt COMPONENT PythonWheelTorch)
  endif()
  install(FILES ${licenses} DESTINATION itkgigapixel/licenses/torch COMPONENT PythonWheelTorch)
  gigapixel_share_rooms(${modules})
  install(TARGETS ${modules} LIBRARY DESTINATION itk/ITKGigapixel COMPONENT PythonWheelTorch)
endif()

# The command-line modules for 3D Slicer and slicer_cli_web. All are one program, once here, and for each module a script
# of its name.
add_subdirectory(${Gigapixel_ROOT}/Wrapping/Slicer/CLI rooms/SlicerModules)
get_directory_property(modules DIRECTORY ${Gigapixel_ROOT}/Wrapping/Slicer/CLI DEFINITION modules)
add_executable(gigapixel-module ${Gigapixel_ROOT}/Wrapping/Slicer/CLI/main.cxx)
target_link_libraries(gigapixel-module PRIVATE GigapixelModules)
gigapixel_share_rooms(gigapixel-module ${modules})
set_target_properties(gigapixel-module PROPERTIES INSTALL_RPATH ${rpath})
install(TARGETS gigapixel-module RUNTIME DESTINATION itkgigapixel/bin COMPONENT PythonWheelRuntimeLibraries)
install(FILES $<TARGET_FILE_DIR:TissueLabel>/slicer_cli_list.json DESTINATION itkgigapixel/bin
  COMPONENT PythonWheelRuntimeLibraries)
foreach(module IN LISTS modules)
  configure_file(module.sh.in ${CMAKE_CURRENT_BINARY_DIR}/modules/${module} @ONLY)
  install(PROGRAMS ${CMAKE_CURRENT_BINARY_DIR}/modules/${module} DESTINATION itkgigapixel/bin
    COMPONENT PythonWheelRuntimeLibraries)
  install(FILES $<TARGET_FILE_DIR:${module}>/${module}.xml DESTINATION itkgigapixel/bin
    COMPONENT PythonWheelRuntimeLibraries)
endforeach()

# Type stubs of the package itk, made of what SWIG has written.
file(GLOB wrapped RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/wrapping CONFIGURE_DEPENDS wrapping/*.wrap wrapping/network/*.wrap)
list(TRANSFORM wrapped REPLACE ".*/" "")
list(TRANSFORM wrapped REPLACE "(.*)\\.wrap" "${ITK_DIR}/Wrapping/Generators/Python/itk/\\1Python.py")
install(CODE "execute_process(COMMAND_ERROR_IS_FATAL ANY
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/wrapping/stubs.py \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/itk-stubs ${wrapped})"
  COMPONENT PythonWheelRuntimeLibraries)

# In the wheel, wherever that is put together: ITK would keep the folder of the first time.
set(PY_SITE_PACKAGES_PATH "." CACHE STRING "Where the wheel's files go" FORCE)
