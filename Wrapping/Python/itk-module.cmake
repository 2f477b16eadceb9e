# What ITK's module system needs to know: the name, what it stands on, and the readers that it registers. ITK finds this
# file wherever it lies below Modules/Remote.
itk_module(Gigapixel
  DEPENDS
    ITKCommon
    ITKIOImageBase
  FACTORY_NAMES
    ImageIO::WholeSlide
    ImageIO::PyramidTIFF
  EXCLUDE_FROM_DEFAULT
  DESCRIPTION
    "Gigapixel whole-slide images in ITK pipelines: streaming pyramid readers and writers, tissue label filters, and networks that train and infer on whole slides, exactly.")
