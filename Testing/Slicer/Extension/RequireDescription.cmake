# What Slicer's extensions manager shows.
foreach(field IN ITEMS HOMEPAGE CATEGORY CONTRIBUTORS DESCRIPTION ICONURL SCREENSHOTURLS DEPENDS)
  if(NOT EXTENSION_${field})
    message(FATAL_ERROR "EXTENSION_${field} is not set")
  endif()
endforeach()
