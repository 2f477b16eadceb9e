/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelUNetImageFilter_h
#define itkGigapixelUNetImageFilter_h

#include "gigapixelDiagnostic.h"
#include "GigapixelUNetExport.h"
#include "gigapixelComputingOptions.h"
#include "gigapixelKeptNormalization.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelChosenPatches.h"
#include "gigapixelSegmentationOptions.h"
#include "gigapixelTilePrediction.h"
#include "itkGigapixelImageSource.h"
#include "itkGigapixelNetworkSource.h"
#include "itkGigapixelOptions.h"
#include "itkImageToImageFilter.h"

#include <functional>

namespace itk
{

/** What GigapixelUNetImageFilter writes. */
enum class GigapixelUNetOutput : std::uint8_t
{
  Automatic,  ///< Label for unsigned char, Probability for float
  Label,      ///< two classes: 0 or 255; more: the class of the highest probability
  Probability ///< 0..1, as unsigned char round(255 p)
};

/** \class GigapixelUNetImageFilter
 * \brief Segments an image of any size with a trained network, strip by strip, to the same bits for every way of
 * asking.
 *
 * The network sees each tile of a grid that is anchored at the image's first pixel together with its halo, and so
 * computes exactly what it would compute from the whole image. The input's requested region is those tiles with their
 * halo: upstream streams as well. The last row of tiles is remembered, so that an image written in many strips has
 * each tile computed, and its pixels read, once.
 *
 * Gray networks take RGB images by Rec. 601. The image's spacing must be that which the network was trained at (10 %,
 * since slides of one magnification differ by a few percent); where one of them is unknown a warning says so.
 *
 * A network that states a normalization takes samples of float as well. Its statistics are those of the whole input,
 * which is read in pieces for them once, unless SetNormalization() has them.
 *
 * \tparam TInputImage Image of unsigned char or RGBPixel<unsigned char>, or VectorImage of unsigned char; 2-D; of float
 * for a network that states a normalization
 * \tparam TOutputImage Image or VectorImage of unsigned char or float; 2-D. A VectorImage has the probabilities of all
 * classes; with a network of two classes it has one component, that of class 1.
 *
 * \par Example
 * \code
 * filter->SetInput(reader->GetOutput());
 * filter->SetModelFileName("best.safetensors");
 * writer->SetInput(filter->GetOutput());
 * writer->SetNumberOfStreamDivisions(64);
 * \endcode
 *
 * \ingroup ClassificationFilters Streamed */
template <typename TInputImage, typename TOutputImage = TInputImage>
class ITK_TEMPLATE_EXPORT GigapixelUNetImageFilter : public ImageToImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(GigapixelUNetImageFilter);

  using Self = GigapixelUNetImageFilter;
  using Superclass = ImageToImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using OutputSampleType = typename NumericTraits<typename TOutputImage::PixelType>::ValueType;

  static_assert(TOutputImage::ImageDimension == 2, "Gigapixel images have two dimensions");
  static_assert(std::is_same<OutputSampleType, unsigned char>::value || std::is_same<OutputSampleType, float>::value,
                "The output is of unsigned char or float");

  itkNewMacro(Self);
  itkTypeMacro(GigapixelUNetImageFilter, ImageToImageFilter);

  /** A model file, or the folder of a training run (its best weights). Takes the place of SetModel(). */
  void SetModelFileName(const std::string & fileName);
  itkGetStringMacro(ModelFileName);

  /** A model at hand, as the trainer gives it. Takes the place of SetModelFileName(). */
  void SetModel(const gigapixel::Model & model);

  /** The same without a copy of its weights. */
  void SetSharedModel(const std::shared_ptr<const gigapixel::Model> & model);

  /** \name What becomes of probabilities: Set and Get of each entry of gigapixelSegmentationOptionList.h, Clear of
   * those that may be unset. @{ */
#define GIGAPIXEL_MASK_OPTION(type, Name, member, value, option)
#define GIGAPIXEL_SEGMENTATION_OPTION(type, Name, member, value, option)                                               \
  itkGigapixelOptionMacro(type, Name, m_Segmentation.member)
#define GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)                                               \
  itkGigapixelOptionalMacro(type, Name, m_Segmentation.member, otherwise)
#include "gigapixelSegmentationOptionList.h"

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

  /** The network's normalization with statistics that were found already, those of a slide in a coarser level. Null,
   * the default: they are found in the input. Not used by a network that states none. */
  void SetNormalization(const std::shared_ptr<gigapixel::KeptNormalization> & normalization);

  /** Processes that compute one image together, see gigapixel::TilePrediction: rank 0 asks for the output as if it were
   * alone, the others for the regions of GetOwnRows(), from top to bottom. Null, the default: this process alone. */
  void SetRanks(const std::shared_ptr<gigapixel::Ranks> & ranks);

  /** The parts of a region of the output that this rank has to ask for. Call UpdateOutputInformation() first. */
  std::vector<ImageRegion<2>> GetOwnRows(const ImageRegion<2> & region) const;

  /** Counts the bytes of a memory limit that other filters keep. Default: none. SlideSegmentationImageSource sets it.
   * It changes no result, so that the output stays up to date; tiles are planned anew only where the bytes grow. */
  void
  SetBesideBytes(const gigapixel::BesideBytes & beside)
  {
    m_BesideBytes = beside;
  }

  /** Tiles that were computed since input, model or a parameter last changed. */
  SizeValueType GetNumberOfComputedTiles() const;

protected:
  GigapixelUNetImageFilter() = default;
  ~GigapixelUNetImageFilter() override = default;

  /** \throw ExceptionObject without a model, with one that cannot be read, or when the resolutions differ */
  void GenerateOutputInformation() override;

  void GenerateInputRequestedRegion() override;

  void GenerateData() override;

  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  void LoadModel();

  /** A new prediction when anything that it depends on has changed. */
  void PreparePrediction();

  /** Statistics of the input for a network that states a normalization. \param mTime of all that they depend on */
  void FindNormalization(ModifiedTimeType mTime);

  /** The input's buffer as the network takes it. */
  std::shared_ptr<gigapixel::PixelSource> MakePixels() const;

  /** Device, precision and its memory. \throw std::exception what is wrong with them */
  gigapixel::Device FindDevice() const;

  gigapixel::PredictionFormat GetFormat() const;

  /** Region in pixels from the image's first one, and back. */
  gigapixel::Region FromFirstPixel(const ImageRegion<2> & region) const;

  std::string                                   m_ModelFileName;
  std::shared_ptr<const gigapixel::Model>       m_Model;
  gigapixel::SegmentationOptions                m_Segmentation;
  GigapixelUNetOutput                           m_OutputMode{ GigapixelUNetOutput::Automatic };
  gigapixel::ComputingOptions                   m_Computing;
  gigapixel::PatchOptions                       m_Patching;
  std::shared_ptr<gigapixel::Ranks>             m_Ranks;
  std::shared_ptr<gigapixel::KeptNormalization> m_GivenNormalization;
  std::shared_ptr<gigapixel::KeptNormalization> m_Normalization; ///< null: the network states none
  gigapixel::BesideBytes                        m_BesideBytes;
  std::unique_ptr<gigapixel::TilePrediction>    m_Prediction;
  ModifiedTimeType                              m_PredictionMTime{ 0 };
  std::int64_t                                  m_PlannedBesideBytes{ 0 };
};

/** When the pixels of an image last changed: the latest modification of a process object, or of an image without one,
 * upstream of it. (An image's own pipeline time will not do: it changes with every region that is streamed.) */
GigapixelUNet_EXPORT ModifiedTimeType GigapixelUpstreamMTime(const DataObject & image);

/** What a setter does: nothing where the value is the same. */
template <typename TObject, typename TMember, typename TValue>
void
GigapixelSetMember(TObject & object, TMember & member, const TValue & value)
{
  if (!(member == value))
  {
    member = value;
    object.Modified();
  }
}

/** Threads that a filter uses: its work units, but no more than there are threads, or cores that a container allows
 * where nobody has set a number. */
GigapixelUNet_EXPORT int GigapixelCountThreads(const ProcessObject & filter);

/** A function for long work that has no progress of its own: it returns false once the filter is to abort.
 * \param filter outlives the function */
GigapixelUNet_EXPORT std::function<bool(double)> GigapixelAskWhetherToGoOn(ProcessObject & filter);

/** \throw std::invalid_argument the model takes volumes */
GigapixelUNet_EXPORT void GigapixelCheckTakesImages(const gigapixel::Model & model);

/** \throw std::runtime_error there are patches, and what is of a network over the whole image besides */
GigapixelUNet_EXPORT void GigapixelCheckTiling(bool hasPatches, std::int64_t tileSize, bool sharedMemory);

/** \throw std::runtime_error a sentence where a threshold was set and the model has an output for each class, the
 * greatest of which decides */
GigapixelUNet_EXPORT void GigapixelCheckThreshold(const gigapixel::Model & model, bool hasThreshold);

/** \throw std::runtime_error when both are known and differ by more than 10 %; the message names both
 * \return a warning, or an empty string */
GigapixelUNet_EXPORT gigapixel::Diagnostic GigapixelCheckResolution(double modelMicronsPerPixel,
                                                                    double imageMicronsPerPixel);

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkGigapixelUNetImageFilter.hxx"
#endif

#endif
