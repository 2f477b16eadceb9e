# Trains on a drawn slide and segments it; the mask has to be a file that is there.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}")
  endif()
endfunction()

run(${DRAW} slide.tif truth.tif)
run(${TRAIN} training slide.tif truth.tif)
run(${SEGMENT} slide.tif training mask.pyramid.tif)
if(NOT EXISTS ${FOLDER}/mask.pyramid.tif)
  message(FATAL_ERROR "SegmentSlide ended well, but wrote no mask")
endif()
file(REMOVE_RECURSE ${FOLDER})
