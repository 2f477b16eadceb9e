/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkSlideTissueImageSource_h
#define itkSlideTissueImageSource_h

#include "GigapixelTissueExport.h"
#include "itkImage.h"
#include "itkImageSource.h"
#include "itkPoint.h"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace itk
{
class WholeSlideImageIO;

/** \class SlideTissueImageSource
 * \brief The tissue mask of a slide's file: 255 is tissue, 0 is not; or glass, tissue, pen and artifacts.
 *
 * The pipeline from a slide to its TissueLabelImageFilter, put together in one place for all who need it: the program
 * `gigapixel label`, Python's `itkgigapixel.label()` and other programs get the same mask, to the bit, from the same
 * settings. It opens the slide, and reads it as gray or as RGB by what it is. It reads the coarsest level of which
 * whole pixels make one of the mask. A resolution that is no whole downsample (MicronsPerPixel) is resampled instead.
 * It chooses the preset where that is "rules", and looks whether the ground is dark where it is a network.
 *
 * It streams as TissueLabelImageFilter does. A mask of up to 64 megabytes of pixels to be judged is read once.
 *
 * \par Example
 * \code
 * slide->SetFileName("slide.svs"); // an itk::WholeSlideImageIO
 * tissue->SetSlide(slide);
 * pyramid->SetMadeBy(tissue->GetMadeBy()); // an itk::PyramidTIFFImageIO: gigapixel label then knows the file
 * pyramid->SetSlide(slide);                // and how many of its tiles were damaged
 * writer->SetInput(tissue->GetOutput());
 * \endcode
 *
 * \ingroup DataSources */
class GigapixelTissue_EXPORT SlideTissueImageSource : public ImageSource<Image<unsigned char, 2>>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(SlideTissueImageSource);

  using Self = SlideTissueImageSource;
  using Superclass = ImageSource<Image<unsigned char, 2>>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  using Point2 = Point<double, 2>; ///< pixels of level 0

  itkNewMacro(Self);
  itkTypeMacro(SlideTissueImageSource, ImageSource);

  /** The slide, with its file's name and, where wanted, its stated resolution. It is opened, and else left as it
   * is: the level is that of a copy. Changes of it are followed by the next update. */
  void SetSlide(WholeSlideImageIO * slide);

  /** One of GetPresets(), "auto" by default; an exception, naming those that there are, if it is none. */
  void SetPreset(const std::string & name);
  itkGetStringMacro(Preset);

  /** What SetPreset() takes: gigapixel::GetTissuePresetNames(), the default first. */
  static std::vector<std::string> GetPresets();

  /** Another model than the ready one for the preset "model": a file of Utilities/tissue-network. Empty, the
   * default: the ready one. */
  itkSetStringMacro(Model);
  itkGetStringMacro(Model);

  /** \name What a person says of the slide, where its mask is wrong: a file of outlines as drawn with a brush in
   * QuPath, each of a class of gigapixel::GetTissueHintNames(). What lies in them is what they say, and what looks like
   * it, nearby above all, is judged anew (gigapixel::TissueCorrection). Of use with the preset "model" alone; refused
   * with others (E-OPTION-APPLIES). Empty, the default: none. @{ */
  itkSetStringMacro(Hints);
  itkGetStringMacro(Hints);
  /** Where (0, 0) of the outlines lies, in level-0 pixels; default (0, 0). See AnnotationImageSource. */
  itkSetMacro(HintsOrigin, Point2);
  itkGetConstMacro(HintsOrigin, Point2);
  /** @} */

  /** The values are 0 glass, 1 tissue and, with the preset "model", 2 pen and 3 artifact, in place of 0 and 255; their
   * names and colors are in the output's meta data dictionary, from where they get into pyramids. Default off. */
  itkSetMacro(OutputClasses, bool);
  itkGetConstMacro(OutputClasses, bool);
  itkBooleanMacro(OutputClasses);

  /** Pixels of level 0 along a side of a pixel of the label grid, 1 to 256; default 8. */
  itkSetClampMacro(Downsample, unsigned int, 1, 256);
  itkGetConstMacro(Downsample, unsigned int);

  /** The resolution of the label grid, in place of its downsample: pixels of level 0 are averaged to exactly so many
   * micrometers, as WholeSlideImageIO::SetMicronsPerPixel() says. A whole downsample of that resolution is taken as
   * such. 0, the default: the downsample counts. Negative, infinite and NaN are refused (E-OPTION-VALUE). */
  virtual void SetMicronsPerPixel(double micronsPerPixel);
  itkGetConstMacro(MicronsPerPixel, double);

  /** The mask is enlarged from the label grid to the size of level 0. Default off. Refused (E-OPTION-CONFLICT) where
   * the resolution of the label grid is no whole downsample. */
  itkSetMacro(FullResolution, bool);
  itkGetConstMacro(FullResolution, bool);
  itkBooleanMacro(FullResolution);

  /** \name After UpdateOutputInformation(). @{ */
  /** The level that is read. */
  itkGetConstMacro(Level, unsigned int);
  /** The slide as it is read, for the pixels that are judged: the level, or resampled. */
  const WholeSlideImageIO * GetReadSlide() const;
  /** Pixels of level 0 along a side of one of the label grid, x and y. */
  std::array<double, 2> GetGridDownsamples() const;
  /** The preset, or that which was chosen for the slide. */
  itkGetStringMacro(ChosenPreset);
  /** All that decides on the mask's pixels, in a line for PyramidTIFFImageIO::SetMadeBy(). */
  itkGetStringMacro(MadeBy);
  /** After Update(): the shares of the label grid's pixels that are pen, and artifacts, as OutputClasses shows them.
   * NaN with other presets than "model". */
  double GetPenShare() const;
  double GetArtifactShare() const;
  /** After Update(): intersection over union of the mask with the truth, as the network expects it, and by that the
   * chance that it is below 0.8. NaN with other presets than "model", and where there is no tissue. */
  double GetExpectedOverlap() const;
  double GetChanceOfPoorMask() const;
  /** A sentence on a preset that does not suit the slide; empty where it does. Reads a sample of the slide. */
  std::string GetAdvice() const;
  /** @} */

  void UpdateOutputInformation() override;

  /** Makes an image that is complete of one that streams: of the pixels that are judged, unsigned char or RGB. */
  using GridMaker = std::function<ImageBase<2>::Pointer(ImageBase<2> * streamed)>;

  /** How the pixels come to be before the first is judged, for processes that make them together. Null,
   * the default: they are streamed. Changes no pixel, and may be said after UpdateOutputInformation(). */
  void
  SetGridMaker(const GridMaker & maker)
  {
    m_GridMaker = maker;
  }

  /** Bytes of the pixels that are judged: those of the label grid, or finer ones (see TissueLabelImageFilter). */
  SizeValueType GetGridBytes() const;

  /** Does the part of a process that gives no mask: only calls the grid maker. After UpdateOutputInformation(). */
  void MakeGrid();

protected:
  SlideTissueImageSource();
  ~SlideTissueImageSource() override;

  /** \throw ExceptionObject one sentence that names the file */
  void GenerateOutputInformation() override;
  void GenerateData() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  void SelectGrid();
  void ChoosePreset();
  void ConnectStages();
  void ReadHints();
  void DescribeMaking();
  void NameClasses();
  /** Hands progress on, and an abort back to the stage. */
  void Advance(ProcessObject * stage, double share);
  /** An exception where there was no UpdateOutputInformation(). */
  void RequireStages() const;
  /** Updates stages; after an exception they are made anew. */
  void Run(const std::function<void()> & update);

  struct Stages;

  std::string             m_Preset;
  std::string             m_ChosenPreset;
  std::string             m_MadeBy;
  std::string             m_Model;
  std::string             m_Hints;
  Point2                  m_HintsOrigin;
  bool                    m_OutputClasses{ false };
  unsigned int            m_Downsample{ 8 };
  unsigned int            m_GridDownsample{ 8 }; // 0: the label grid is resampled
  unsigned int            m_JudgedPerSide{ 1 };  // pixels, of one of the label grid
  double                  m_MicronsPerPixel{ 0.0 };
  unsigned int            m_Level{ 0 };
  bool                    m_FullResolution{ false };
  GridMaker               m_GridMaker;
  std::unique_ptr<Stages> m_Stages;
};

} // namespace itk

#endif
