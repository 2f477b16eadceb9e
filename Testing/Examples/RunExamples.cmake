# Trains on a drawn slide and segments it with a network of gray and one of colors, at two resolutions, and labels it with
# each preset: the examples' files have to be those of the program, to the byte, but for what else its masks of tissue say.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE result OUTPUT_QUIET)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}")
  endif()
endfunction()

function(expect_same name)
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files example.pyramid.tif program.pyramid.tif
    WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${name}: the example and the program have written different files")
  endif()
endfunction()

# The program's masks of tissue say more than the example's: the shares of pen and artifacts.
function(expect_same_tissue name)
  execute_process(COMMAND ${PROGRAM} evaluate example.pyramid.tif program.pyramid.tif --json --quiet
    WORKING_DIRECTORY ${FOLDER} OUTPUT_VARIABLE figures)
  if(NOT figures MATCHES "\"iou\": 1\\.0[,\n]")
    message(FATAL_ERROR "${name}: the example and the program have found different tissue: ${figures}")
  endif()
endfunction()

function(expect_same_segmentation model)
  run(${SEGMENT} slide.tif ${model} example.pyramid.tif)
  run(${PROGRAM} segment slide.tif --model ${model} -o program.pyramid.tif --quiet --overwrite)
  expect_same("segmentation by ${model}")
endfunction()

run(${DRAW} slide.tif truth.tif)
run(${TRAIN} training slide.tif truth.tif)
expect_same_segmentation(training)

file(READ ${NETWORKS}/remedios2023.json network)
string(REPLACE "\"channels\": 1," "\"channels\": 3," network "${network}")
string(REPLACE "\"in\": 1," "\"in\": 3," network "${network}")
file(WRITE ${FOLDER}/colors.json "${network}")
file(WRITE ${FOLDER}/cohort.csv "slide,mask,split\nslide.tif,truth.tif,train\n")
foreach(mpp IN ITEMS 0.5 1.0)
  run(${PROGRAM} train --cohort cohort.csv -o colors-${mpp} --network colors.json --mpp ${mpp} --epochs 2 --quiet)
  expect_same_segmentation(colors-${mpp})
endforeach()

# What the example lists is what the program lists.
execute_process(COMMAND ${LABEL} ERROR_VARIABLE usage RESULT_VARIABLE result)
string(REGEX REPLACE "^.*one of:\n" "" presets "${usage}")
string(STRIP "${presets}" presets)
string(REPLACE "\n" ";" presets "${presets}")
execute_process(COMMAND ${PROGRAM} label --help-all OUTPUT_VARIABLE help)
list(LENGTH presets count)
if(count LESS 5)
  message(FATAL_ERROR "LabelSlide lists ${count} presets: ${usage}")
endif()
foreach(preset IN LISTS presets)
  if(NOT help MATCHES "${preset}:")
    message(FATAL_ERROR "gigapixel label --help-all has no preset ${preset}")
  endif()
  run(${LABEL} slide.tif ${preset} example.pyramid.tif)
  run(${PROGRAM} label slide.tif --preset ${preset} -o program.pyramid.tif --quiet --overwrite)
  expect_same_tissue("label with ${preset}")
endforeach()
file(REMOVE_RECURSE ${FOLDER})
