include(${CMAKE_CURRENT_LIST_DIR}/../../itk-module.cmake)
