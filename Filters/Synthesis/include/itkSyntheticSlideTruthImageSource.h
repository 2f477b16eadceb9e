/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkSyntheticSlideTruthImageSource_h
#define itkSyntheticSlideTruthImageSource_h

#include "GigapixelSynthesisExport.h"
#include "itkImage.h"
#include "itkImageSource.h"

#include <memory>

namespace gigapixel
{
class SyntheticScene;
}

namespace itk
{
/** \class SyntheticSlideTruthImageSource
 * \brief Where the tissue is in the slide that SyntheticSlideImageSource draws with the same settings.
 *
 * 255 tissue (pale and fatty parts and the lumina of glands included), 0 all else: glass, holes, dust and debris on the
 * glass, and every pixel under a pen stroke. Same rules as SyntheticSlideImageSource: any region has the bits that it
 * has in the whole.
 *
 * Output: size as set, unsigned char, spacing micronsPerPixel / 1000 mm, origin 0.
 *
 * \ingroup DataSources
 */
class GigapixelSynthesis_EXPORT SyntheticSlideTruthImageSource : public ImageSource<Image<unsigned char, 2>>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(SyntheticSlideTruthImageSource);

  using Self = SyntheticSlideTruthImageSource;
  using OutputImageType = Image<unsigned char, 2>;
  using Superclass = ImageSource<OutputImageType>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(SyntheticSlideTruthImageSource, ImageSource);

  /** Pixels of the slide, 1 to 2^24 each way. Default 4096 x 4096. */
  void SetSize(SizeValueType width, SizeValueType height);
  itkGetConstReferenceMacro(Size, Size<2>);

  /** The specimen. Default 1. */
  itkSetMacro(Seed, unsigned int);
  itkGetConstMacro(Seed, unsigned int);

  /** Micrometers per pixel, 0.1 to 8. Default 0.5, a scanner's 20x. */
  itkSetMacro(MicronsPerPixel, double);
  itkGetConstMacro(MicronsPerPixel, double);

protected:
  SyntheticSlideTruthImageSource();
  ~SyntheticSlideTruthImageSource() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;
  void GenerateOutputInformation() override;
  void GenerateData() override;

private:
  Size<2>                                          m_Size{ { 4096, 4096 } };
  unsigned int                                     m_Seed{ 1 };
  double                                           m_MicronsPerPixel{ 0.5 };
  std::shared_ptr<const gigapixel::SyntheticScene> m_Scene;
};

} // namespace itk

#endif
