# Here, beside wrapping/, is what ITK's module system builds.
set(Gigapixel_IS_BESIDE_WRAPPING ON)
include("${CMAKE_CURRENT_LIST_DIR}/../../itk-module.cmake")
unset(Gigapixel_IS_BESIDE_WRAPPING)
