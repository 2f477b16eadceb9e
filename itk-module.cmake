# What ITK's module system needs to know: the name, what it stands on, and the readers that it registers.
# The filters use nothing of ITK beyond its core; the tests compare with other filters of ITK.
itk_module(Gigapixel
  ENABLE_SHARED
  DEPENDS
    ITKCommon
    ITKIOImageBase
  TEST_DEPENDS
    ITKGoogleTest
    ITKStatistics
    ITKImageStatistics
    ITKImageIntensity
    ITKMathematicalMorphology
    ITKBinaryMathematicalMorphology
    ITKLabelMap
    ITKSmoothing
    ITKThresholding
  FACTORY_NAMES
    ImageIO::WholeSlide
    ImageIO::PyramidTIFF
  EXCLUDE_FROM_DEFAULT
  DESCRIPTION
    "Gigapixel whole-slide images in ITK pipelines: streaming pyramid readers and writers, tissue label filters, and networks that train and infer on whole slides, exactly.")
