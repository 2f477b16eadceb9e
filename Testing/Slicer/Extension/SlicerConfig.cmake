# A stand-in for Slicer's build tree: takes what an extension says to Slicer, and checks it against the files.
set(Slicer_USE_FILE ${CMAKE_CURRENT_LIST_DIR}/UseSlicer.cmake)
set(Slicer_EXTENSION_GENERATE_CONFIG ${CMAKE_CURRENT_LIST_DIR}/RequireDescription.cmake)
set(Slicer_EXTENSION_CPACK ${CMAKE_CURRENT_LIST_DIR}/RequireDescription.cmake)
