/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkSyntheticSlideTruthImageSource_h
#define itkSyntheticSlideTruthImageSource_h

#include "itkSyntheticSlideSource.h"

namespace itk
{
/** \class SyntheticSlideTruthImageSource
 * \brief Where the tissue is in the slide that SyntheticSlideImageSource draws with the same settings.
 *
 * 255 tissue (pale and fatty parts and the lumina of glands included), 0 all else: glass, holes, dust and debris on the
 * glass, and every pixel under a pen stroke.
 *
 * \ingroup DataSources
 */
class GigapixelSynthesis_EXPORT SyntheticSlideTruthImageSource : public SyntheticSlideSource<Image<unsigned char, 2>>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(SyntheticSlideTruthImageSource);

  using Self = SyntheticSlideTruthImageSource;
  using OutputImageType = Image<unsigned char, 2>;
  using Superclass = SyntheticSlideSource<OutputImageType>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(SyntheticSlideTruthImageSource, SyntheticSlideSource);

protected:
  SyntheticSlideTruthImageSource() = default;
  ~SyntheticSlideTruthImageSource() override = default;

  void DrawBlock(const gigapixel::SyntheticScene & scene,
                 const gigapixel::SceneRegion &    region,
                 OutputImageType::PixelType *      pixels,
                 std::int64_t                      rowLength) const override;
};

} // namespace itk

#endif
