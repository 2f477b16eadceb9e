/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkSyntheticSlideImageSource_h
#define itkSyntheticSlideImageSource_h

#include "GigapixelSynthesisExport.h"
#include "itkImage.h"
#include "itkImageSource.h"
#include "itkRGBPixel.h"

#include <memory>

namespace gigapixel
{
class SyntheticScene;
}

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
 * Every pixel is a function of its index, the slide's size, the resolution and the seed alone: any region, by any
 * number of threads, has the bits that it has in the whole slide. SyntheticSlideTruthImageSource with the same settings
 * gives the truth for it.
 *
 * Output: size as set, RGB of unsigned char, spacing micronsPerPixel / 1000 mm, origin 0.
 *
 * \ingroup DataSources
 */
class GigapixelSynthesis_EXPORT SyntheticSlideImageSource : public ImageSource<Image<RGBPixel<unsigned char>, 2>>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(SyntheticSlideImageSource);

  using Self = SyntheticSlideImageSource;
  using OutputImageType = Image<RGBPixel<unsigned char>, 2>;
  using Superclass = ImageSource<OutputImageType>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(SyntheticSlideImageSource, ImageSource);

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
  SyntheticSlideImageSource();
  ~SyntheticSlideImageSource() override;
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
