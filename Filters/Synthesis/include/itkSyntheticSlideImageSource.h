/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkSyntheticSlideImageSource_h
#define itkSyntheticSlideImageSource_h

#include "itkSyntheticSlideSource.h"

namespace itk
{
/** \class SyntheticSlideImageSource
 * \brief Draws a slide of tissue stained with haematoxylin and eosin that nobody has ever cut.
 *
 * Glass with sensor noise and slight shading; several pieces of tissue with organic outline and holes; in them fibrous
 * stroma, glands, lymphoid areas with nuclei of about 8 micrometers, fat and washed-out, nearly white parts; on the
 * glass dust, dark debris and strokes of a marker pen. Pieces, holes and strokes are laid out relative to the slide's
 * size; textures, nuclei and debris keep their physical scale. Another seed is another specimen: number and outline of
 * the pieces, hue of the stains, color of the pen.
 *
 * SyntheticSlideTruthImageSource with the same settings gives the truth for it.
 *
 * \ingroup DataSources
 */
class GigapixelSynthesis_EXPORT SyntheticSlideImageSource
  : public SyntheticSlideSource<Image<RGBPixel<unsigned char>, 2>>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(SyntheticSlideImageSource);

  using Self = SyntheticSlideImageSource;
  using OutputImageType = Image<RGBPixel<unsigned char>, 2>;
  using Superclass = SyntheticSlideSource<OutputImageType>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(SyntheticSlideImageSource, SyntheticSlideSource);

protected:
  SyntheticSlideImageSource() = default;
  ~SyntheticSlideImageSource() override = default;

  void DrawBlock(const gigapixel::SyntheticScene & scene,
                 const gigapixel::SceneRegion &    region,
                 OutputImageType::PixelType *      pixels,
                 std::int64_t                      rowLength) const override;
};

} // namespace itk

#endif
