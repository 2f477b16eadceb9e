/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkSlideSegmentationImageSource_h
#define itkSlideSegmentationImageSource_h

#include "GigapixelUNetExport.h"
#include "gigapixelModel.h"
#include "gigapixelRanks.h"
#include "gigapixelSource.h"
#include "gigapixelStageSeconds.h"
#include "itkGigapixelUNetImageFilter.h"
#include "itkImageSource.h"

#include <memory>
#include <string>

namespace gigapixel
{
struct SlideMemory;
}

namespace itk
{
class WholeSlideImageIO;

/** Whether slides can be segmented with the model like this.
 * \throw std::exception a sentence where the model labels images, or tells more than two classes apart and
 * probabilities or filled holes are asked for, or has an output for each class and a threshold is given */
GigapixelUNet_EXPORT void CheckSlideSegmentation(const gigapixel::Model &               model,
                                                 GigapixelUNetOutput                    content,
                                                 const gigapixel::SegmentationOptions & options);

/** \class SlideSegmentationImageSource
 * \brief A slide's file, segmented with a trained network.
 *
 * The pipeline from a slide through GigapixelUNetImageFilter, put together in one place for all who need it: the
 * program `gigapixel segment`, Python's `itkgigapixel.segment()` and other programs get the same pixels, to the bit,
 * from the same settings. It opens the slide with the channels and at the resolution that the model was trained on, and
 * refuses one that has no such channels or level.
 *
 * It streams as GigapixelUNetImageFilter does; a region has the same bits as in the whole slide.
 *
 * \tparam TOutputImage Image of unsigned char or float, 2-D: there is this class for these two
 *
 * \par Example
 * \code
 * slide->SetFileName("slide.svs"); // an itk::WholeSlideImageIO
 * segmentation->SetSlide(slide);
 * segmentation->SetModel(gigapixel::Model::Load("run"));
 * pyramid->SetMadeBy(segmentation->GetMadeBy()); // an itk::PyramidTIFFImageIO: gigapixel segment then knows the file
 * pyramid->SetSlide(slide);                // and how many of its tiles were damaged
 * writer->SetInput(segmentation->GetOutput());
 * \endcode
 *
 * \ingroup DataSources */
template <typename TOutputImage = Image<unsigned char, 2>>
class ITK_TEMPLATE_EXPORT SlideSegmentationImageSource : public ImageSource<TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(SlideSegmentationImageSource);

  using Self = SlideSegmentationImageSource;
  using Superclass = ImageSource<TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
  itkTypeMacro(SlideSegmentationImageSource, ImageSource);

  /** The slide, with its file's name and, where wanted, its stated resolution. It is opened, and else left as it
   * is: level and channels are those of a copy. Changes of it are followed by the next update. */
  void SetSlide(WholeSlideImageIO * slide);

  void SetModel(const gigapixel::Model & model); ///< a model in memory, whose weights are copied

  /** The same without a copy. */
  void SetSharedModel(const std::shared_ptr<const gigapixel::Model> & model);

  /** The level to read, where the resolution of slide or model is unknown; one of another resolution than the model's
   * is refused. Without this: the level of the model's resolution (10 % allowed), else pixels that are resampled to
   * it; where the model knows none, what the slide is set to. */
  void SetLevel(unsigned int level);
  void ClearLevel();

  /** Only this rectangle, in pixels of level 0: whole pixels of the level, as far as the slide reaches. Of width 0, the
   * default: all of the slide. */
  void SetRegion(const gigapixel::Region & region);

  /** Where there is tissue: a mask (1 or 255) of the slide, on any grid, or a folder that holds it under the name that
   * gigapixel label gives it (gigapixel::FindMask). What is no tissue is white to the network, is not even read, and
   * becomes 0. Empty, the default: everything counts. */
  itkSetStringMacro(Tissue);
  itkGetStringMacro(Tissue);

  /** \name What becomes of probabilities: Set and Get of each entry of gigapixelSegmentationOptionList.h, Clear of
   * those that may be unset. @{ */
#define GIGAPIXEL_SEGMENTATION_OPTION(type, Name, member, value, option)                                               \
  itkGigapixelOptionMacro(type, Name, m_Segmentation.member)
#define GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)                                               \
  itkGigapixelOptionalMacro(type, Name, m_Segmentation.member, otherwise)
#include "gigapixelSegmentationOptionList.h"
  itkBooleanMacro(FillHoles);

  /** All of them at once. */
  itkGigapixelSetOptionsMacro(SegmentationOptions, m_Segmentation);
  /** @} */

  /** Labels or probabilities; Automatic, the default, goes by the output's pixel type. */
  itkSetEnumMacro(OutputMode, GigapixelUNetOutput);
  itkGetEnumMacro(OutputMode, GigapixelUNetOutput);

  /** \name Where and how it is computed: Set and Get of each entry of gigapixelComputingOptionList.h, such as
   * SetDevice(). @{ */
#define GIGAPIXEL_COMPUTING_OPTION(type, Name, member, value, option)                                                  \
  itkGigapixelOptionMacro(type, Name, m_Computing.member)
#include "gigapixelComputingOptionList.h"
  itkBooleanMacro(SharedMemory);

  /** All of them at once. */
  itkGigapixelSetOptionsMacro(ComputingOptions, m_Computing);
  /** @} */

  /** \name The network over patches, each by itself, as MONAI's sliding window inference applies it, or over the whole
   * image, the default: Set and Get of each entry of gigapixelPatchOptionList.h. @{ */
#define GIGAPIXEL_PATCH_OPTION(type, Name, member, value, option) itkGigapixelOptionMacro(type, Name, m_Patching.member)
#define GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)                                               \
  itkGigapixelOptionalMacro(type, Name, m_Patching.member, otherwise)
#include "gigapixelPatchOptionList.h"

  /** All of them at once. */
  itkGigapixelPatchesMacro(m_Patching);
  /** @} */

  /** As of GigapixelUNetImageFilter. */
  void SetRanks(const std::shared_ptr<gigapixel::Ranks> & ranks);

  /** Opens the slide at the level and finds the region, without preparing the network: for those who plan with it.
   * \throw ExceptionObject one sentence that names the file */
  void UpdateSlideInformation();

  /** \name After UpdateSlideInformation() or UpdateOutputInformation(). @{ */
  /** The level that is read, and its micrometers per pixel (0: unknown). */
  unsigned int GetLevel() const;
  double       GetMicronsPerPixel() const;

  /** The slide as it is read: the level, or resampled to the resolution of the model. */
  const WholeSlideImageIO * GetReadSlide() const;

  /** Side of the tiles; of the network over patches, of those that are computed together. */
  std::int64_t GetEffectiveTileSize() const;

  /** The region in pixels of the level. */
  const ImageRegion<2> &
  GetSlideRegion() const
  {
    return m_SlideRegion;
  }

  /** Whole tiles that hold the region, as far as the level reaches: what is read (but for a halo) and computed. */
  ImageRegion<2> GetComputedRegion() const;

  /** All that decides on the pixels, in a line for PyramidTIFFImageIO::SetMadeBy().
   * \param content Automatic: what the output holds; the same for a file of labels or probabilities made of it */
  std::string GetMadeBy(GigapixelUNetOutput content = GigapixelUNetOutput::Automatic) const;
  /** @} */

  void UpdateOutputInformation() override;

  /** Computes what this rank has to, and gives nothing: what a rank other than 0 does in place of Update(). */
  void ComputeOwnRows();

  /** CPU seconds of this process while pixels were read and the network computed. */
  const gigapixel::StageSeconds & GetSeconds() const;

protected:
  SlideSegmentationImageSource();
  ~SlideSegmentationImageSource() override;

  /** \throw ExceptionObject one sentence */
  void GenerateOutputInformation() override;
  void GenerateData() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  /** What the output holds: never Automatic. */
  GigapixelUNetOutput GetContent() const;
  void                SelectLevel();
  void                SelectRegion();
  void                OpenTissue();
  void                FindNormalization();
  void                CheckTileSize() const;
  void                CheckSize() const;
  /** Hands progress on, and an abort back to the stages. */
  void Advance(double share);
  void UpdateStage(TOutputImage * made, const ImageRegion<2> & region);
  /** Rows that are computed at a time where the output is more than a writer asks for. */
  SizeValueType          GetBandHeight(const ImageRegion<2> & region) const;
  void                   GenerateInBands(TOutputImage * last, const ImageRegion<2> & region, SizeValueType height);
  gigapixel::SlideMemory CountSlideMemory() const;

  struct Stages;

  gigapixel::Region                 m_Region;
  std::optional<unsigned int>       m_Level;
  std::string                       m_Tissue;
  GigapixelUNetOutput               m_OutputMode{ GigapixelUNetOutput::Automatic };
  gigapixel::SegmentationOptions    m_Segmentation;
  gigapixel::ComputingOptions       m_Computing;
  gigapixel::PatchOptions           m_Patching;
  std::shared_ptr<gigapixel::Ranks> m_Ranks;
  ImageRegion<2>                    m_SlideRegion;
  std::unique_ptr<Stages>           m_Stages;
  double                            m_Begin{ 0 }; ///< of the progress, what bands before have done
  double                            m_Share{ 1 }; ///< and what this one is of it
};

extern template class GigapixelUNet_EXPORT SlideSegmentationImageSource<Image<unsigned char, 2>>;
extern template class GigapixelUNet_EXPORT SlideSegmentationImageSource<Image<float, 2>>;

} // namespace itk

#endif
