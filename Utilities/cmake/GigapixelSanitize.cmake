# Checks that the compiler puts into all of our code while it runs; what we link is not checked.
set(Gigapixel_SANITIZE "" CACHE STRING
  "address (and undefined behavior), thread, or fuzzer (address, and the targets of Testing/Fuzz by clang's libFuzzer)")
set_property(CACHE Gigapixel_SANITIZE PROPERTY STRINGS "" address thread fuzzer)

# Behind their templates, ITK's classes have a type of their own in each library, which the check of types (vptr) takes
# for different ones.
set(undefined undefined -fno-sanitize=vptr -fno-sanitize-recover=all)
if(Gigapixel_SANITIZE STREQUAL "fuzzer")
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "libFuzzer is clang's: configure with -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,${undefined} -fno-omit-frame-pointer -g1
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${PROJECT_SOURCE_DIR}/Testing/Fuzz/ITKOfGCC.h>")
  add_link_options(-fsanitize=address,undefined)
elseif(Gigapixel_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,${undefined} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=address,undefined)
elseif(Gigapixel_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=thread)
elseif(NOT Gigapixel_SANITIZE STREQUAL "")
  message(FATAL_ERROR "Gigapixel_SANITIZE is address, thread or fuzzer, and not ${Gigapixel_SANITIZE}")
endif()

# Tests that compare with ITK's filters hold the code of ITK 5.2's neighborhood iterators, which step from a null pointer.
function(gigapixel_spare_itk)
  if(Gigapixel_SANITIZE STREQUAL "address")
    foreach(target ${ARGN})
      target_compile_options(${target} PRIVATE -fno-sanitize=pointer-overflow)
    endforeach()
  endif()
endfunction()

# Seconds that a test may take which runs programs, some of them hundreds of times; sanitizers start them slowly.
set(Gigapixel_TEST_TIMEOUT 1800)
if(Gigapixel_SANITIZE)
  set(Gigapixel_TEST_TIMEOUT 10800)
endif()
