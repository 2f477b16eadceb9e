/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFollowedSlide_h
#define gigapixelFollowedSlide_h

#include "GigapixelWholeSlideExport.h"
#include "itkWholeSlideImageIO.h"

#include <tuple>

namespace gigapixel
{

/** \class FollowedSlide
 * \brief The slide that a pipeline was given, of which it reads a copy.
 *
 * The pipeline sets level and channels of the copy, so that several may be given the same slide. */
class GigapixelWholeSlide_EXPORT FollowedSlide
{
public:
  void Set(itk::WholeSlideImageIO * slide); ///< null: no slide

  /** Whether there is a slide. */
  bool
  IsSet() const
  {
    return m_Slide.IsNotNull();
  }

  /** Whether what is read, or how, was changed since Copy(). Opens the slide where it may be so. */
  bool HasChanged();

  /** Another reader of the same file with the same settings; the slide is open then, so that it can tell of damage. */
  itk::WholeSlideImageIO::Pointer Copy();

private:
  /** What WholeSlideImageIO::CopySettings() copies. What selects pixels, tolerances among it, counts by its result. */
  using Settings = std::
    tuple<std::string, SlideContent, std::string, unsigned, double, bool, bool, bool, bool, bool, bool, bool, bool>;

  void Read();

  itk::WholeSlideImageIO::Pointer m_Slide;
  itk::ModifiedTimeType           m_ReadTime{ 0 };
  Settings                        m_Settings;
  Settings                        m_Copied;
};

} // namespace gigapixel

#endif
