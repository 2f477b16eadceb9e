# What ITK's module system needs to know: the name, what it stands on, and the readers that it registers.
# ITK takes the folder of this file for the module's and looks there for wrapping/, which here is part of Wrapping/Python.
# So the file of that name there speaks for the module with these words, and ITK passes over this place.
if(NOT Gigapixel_IS_BESIDE_WRAPPING)
  unset(itk-module)
  return()
endif()
itk_module(Gigapixel
  DEPENDS
    ITKCommon
    ITKIOImageBase
  PRIVATE_DEPENDS
    ITKExpat
  FACTORY_NAMES
    ImageIO::WholeSlide
    ImageIO::PyramidTIFF
  EXCLUDE_FROM_DEFAULT
  DESCRIPTION
    "Gigapixel whole-slide images in ITK pipelines: streaming pyramid readers and writers, tissue label filters, and networks that train and infer on whole slides, exactly.")
