# What a user does: cmake --install, then find_package() from a project of their own.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --build ${BUILD_TREE}) # all that is installed; nothing to do where all is built
run(${CMAKE_COMMAND} --install ${BUILD_TREE} --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} -S ${OUTSIDE} -B ${FOLDER}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${FOLDER}/prefix
  -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${CXX_LAUNCHER} -DITK_DIR=${ITK_DIR})
run(${CMAKE_COMMAND} --build ${FOLDER}/build)

# The build tree must not be needed: the libraries come from the prefix.
execute_process(COMMAND ldd ${FOLDER}/build/outside OUTPUT_VARIABLE libraries)
string(REGEX MATCHALL "libGigapixel[^\n]*" ours "${libraries}")
foreach(library IN LISTS ours)
  if(NOT library MATCHES "${FOLDER}/prefix/")
    message(FATAL_ERROR "not from the installation: ${library}")
  endif()
endforeach()
run(${FOLDER}/build/outside)
file(REMOVE_RECURSE ${FOLDER})
