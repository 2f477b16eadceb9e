/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkSyntheticSlideSource_h
#define itkSyntheticSlideSource_h

#include "GigapixelSynthesisExport.h"
#include "itkImage.h"
#include "itkImageSource.h"
#include "itkRGBPixel.h"

#include <array>
#include <memory>
#include <vector>

namespace gigapixel
{
struct SceneRegion;
class SyntheticScene;
} // namespace gigapixel

namespace itk
{
/** \class SyntheticSlideSource
 * \brief What SyntheticSlideImageSource and SyntheticSlideTruthImageSource share: the specimen, and how it is divided.
 *
 * Every pixel is a function of its index and the settings below alone: any region, by any number of threads, has the
 * bits that it has in the whole slide.
 *
 * Output: size as set, spacing micronsPerPixel / 1000 mm, origin 0.
 *
 * \ingroup DataSources
 */
template <typename TOutputImage>
class ITK_TEMPLATE_EXPORT SyntheticSlideSource : public ImageSource<TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(SyntheticSlideSource);

  using Self = SyntheticSlideSource;
  using Superclass = ImageSource<TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkTypeMacro(SyntheticSlideSource, ImageSource);

  /** Pixels of the slide, 1 to 2^24 each way. Default 4096 x 4096. */
  void SetSize(SizeValueType width, SizeValueType height);
  itkGetConstReferenceMacro(Size, Size<2>);

  /** The specimen. Default 1. */
  itkSetMacro(Seed, unsigned int);
  itkGetConstMacro(Seed, unsigned int);

  /** Micrometers per pixel, 0.1 to 8. Default 0.5, a scanner's 20x. */
  itkSetMacro(MicronsPerPixel, double);
  itkGetConstMacro(MicronsPerPixel, double);

  /** Stained brown (diaminobenzidine, as in immunohistochemistry) where it would be stained with eosin. Default off. */
  itkSetMacro(Brown, bool);
  itkGetConstMacro(Brown, bool);
  itkBooleanMacro(Brown);

  /** With what laboratories and scanners leave on slides: pens of five colors, threads, clumps of debris, air bubbles,
   * the coverslip's edge, seams of the scan, a black frame, an unscanned corner. Default off. */
  itkSetMacro(Artifacts, bool);
  itkGetConstMacro(Artifacts, bool);
  itkBooleanMacro(Artifacts);

  /** Share of the slide's area that one to three small foci in the tissue take; 0 (none, the default) to 0.05. They are
   * lesions, of crowded nuclei of twice the usual diameter at twice the distance, or decoys, the same crowd at its
   * usual size. One pattern is the other magnified, so that the share of each color is the same in both. What the one
   * kind of specimen has in its foci, the other has strewn over the tissue outside: enlarged nuclei lie singly where
   * there are decoys, and usual ones are more where there are lesions, so that both have as many of either size. With
   * one seed both kinds have the same outlines. */
  itkSetMacro(FocusShare, double);
  itkGetConstMacro(FocusShare, double);

  /** Whether the foci are decoys. Default off. */
  itkSetMacro(Decoys, bool);
  itkGetConstMacro(Decoys, bool);
  itkBooleanMacro(Decoys);

  /** The outlines of the foci, polygons in pixels; (0, 0) is the outer corner of the first pixel. Known when the output
   * information is up to date. */
  std::vector<std::vector<std::array<double, 2>>> GetFocusOutlines() const;

protected:
  SyntheticSlideSource();
  ~SyntheticSlideSource() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;
  void GenerateOutputInformation() override;
  void GenerateData() override;

  /** Writes the pixels of a region that lies in one block of the scene to \a pixels; rows are \a rowLength pixels
   * apart. Called from all threads. */
  virtual void DrawBlock(const gigapixel::SyntheticScene &  scene,
                         const gigapixel::SceneRegion &     region,
                         typename TOutputImage::PixelType * pixels,
                         std::int64_t                       rowLength) const = 0;

private:
  Size<2>                                          m_Size{ { 4096, 4096 } };
  unsigned int                                     m_Seed{ 1 };
  double                                           m_MicronsPerPixel{ 0.5 };
  bool                                             m_Brown{ false };
  bool                                             m_Artifacts{ false };
  double                                           m_FocusShare{ 0.0 };
  bool                                             m_Decoys{ false };
  std::shared_ptr<const gigapixel::SyntheticScene> m_Scene;
};

extern template class GigapixelSynthesis_EXPORT SyntheticSlideSource<Image<unsigned char, 2>>;
extern template class GigapixelSynthesis_EXPORT SyntheticSlideSource<Image<RGBPixel<unsigned char>, 2>>;

} // namespace itk

#endif
