# Makes a test of ctest of each suite of a GoogleTest program, when that is built.
#   cmake -DPROGRAM=<program> -DFILE=<file for ctest> -DTIMEOUT=<seconds of a suite> -P GigapixelDiscoverSuites.cmake
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE list RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests failed: ${result}")
endif()
string(REPLACE ";" "_" list "${list}")
string(REPLACE "\n" ";" lines "${list}")
set(tests)
foreach(line IN LISTS lines)
  if(line MATCHES "^([^ ]+)\\.( |$)") # tests are indented, a typed suite's type follows behind #
    set(suite ${CMAKE_MATCH_1})
    string(APPEND tests "add_test([==[${suite}]==] [==[${PROGRAM}]==] [==[--gtest_filter=${suite}.*]==] --gtest_brief=1)\n"
      "set_tests_properties([==[${suite}]==] PROPERTIES TIMEOUT ${TIMEOUT})\n")
  endif()
endforeach()
file(WRITE "${FILE}" "${tests}")
