/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelNetworkImageFilter_h
#define itkGigapixelNetworkImageFilter_h

#include "GigapixelUNetExport.h"
#include "gigapixelComputingOptions.h"
#include "gigapixelSegmentationOptions.h"
#include "gigapixelVolumePrediction.h"
#include "itkGigapixelOptions.h"
#include "itkImageToImageFilter.h"

#include <optional>

namespace itk
{

/** \class GigapixelNetworkImageFilter
 * \brief Segments a volume with any network for volumes, exactly, in bounded memory.
 *
 * The volume is computed in tiles, whose voxels are those that the network gives for the whole volume at once. What the
 * model wants of volumes is done first: axes are brought to the orientation that it was trained on, values are
 * normalized by the volume itself, the box around what is not 0 is cut out, voxels are brought to the spacing of the
 * training, and labels back. So the whole volume is asked for, and
 * the whole output is made. Its place in the patient is the input's.
 *
 * \tparam TInputImage Image of any numbers, or VectorImage with a component for each modality, in the network's order;
 * 3-D
 * \tparam TOutputImage Image of unsigned char: of two classes 0 and 1, of more the class of the highest probability;
 * Image of float: the probability of class 1 of two; VectorImage of float: the probabilities of all classes, of two
 * that of class 1. Probabilities are given of networks that see volumes as they are, but for their values. 3-D
 *
 * \par Example
 * \code
 * filter->SetInput(reader->GetOutput());
 * filter->SetModelFileName("brain.safetensors");
 * writer->SetInput(filter->GetOutput());
 * \endcode
 *
 * \ingroup ClassificationFilters */
template <typename TInputImage, typename TOutputImage>
class ITK_TEMPLATE_EXPORT GigapixelNetworkImageFilter : public ImageToImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(GigapixelNetworkImageFilter);

  using Self = GigapixelNetworkImageFilter;
  using Superclass = ImageToImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using OutputSampleType = typename NumericTraits<typename TOutputImage::PixelType>::ValueType;

  static_assert(TInputImage::ImageDimension == 3 && TOutputImage::ImageDimension == 3, "Volumes have three dimensions");
  static constexpr bool GivesLabels =
    std::is_same<OutputSampleType, unsigned char>::value; ///< whether the output has labels, else probabilities
  static_assert(GivesLabels || std::is_same<OutputSampleType, float>::value, "The output is of unsigned char or float");

  itkNewMacro(Self);
  itkTypeMacro(GigapixelNetworkImageFilter, ImageToImageFilter);

  /** A model file, or the folder of a training run (its best weights). Takes the place of SetModel(). */
  void SetModelFileName(const std::string & fileName);
  itkGetStringMacro(ModelFileName);

  /** A model at hand, as the trainer gives it. Takes the place of SetModelFileName(). */
  void SetModel(const gigapixel::Model & model);

  /** \name What becomes of probabilities: Set and Get of each entry of gigapixelSegmentationOptionList.h, Clear of
   * those that may be unset. @{ */
#define GIGAPIXEL_MASK_OPTION(type, Name, member, value, option)
#define GIGAPIXEL_SEGMENTATION_OPTION(type, Name, member, value, option)                                               \
  itkGigapixelOptionMacro(type, Name, m_Segmentation.member)
#define GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)                                               \
  itkGigapixelOptionalMacro(type, Name, m_Segmentation.member, otherwise)
#include "gigapixelSegmentationOptionList.h"
  /** @} */

  /** \name Where and how it is computed: Set and Get of each entry of gigapixelComputingOptionList.h, such as
   * SetDevice(). @{ */
#define GIGAPIXEL_SHARING_OPTION(type, Name, member, value, option)
#define GIGAPIXEL_COMPUTING_OPTION(type, Name, member, value, option)                                                  \
  itkGigapixelOptionMacro(type, Name, m_Computing.member)
#include "gigapixelComputingOptionList.h"
  /** @} */

protected:
  GigapixelNetworkImageFilter() = default;
  ~GigapixelNetworkImageFilter() override = default;

  /** \throw ExceptionObject without a model, with one that cannot be read or does not take the input */
  void GenerateOutputInformation() override;

  void GenerateInputRequestedRegion() override;

  void EnlargeOutputRequestedRegion(DataObject * output) override;

  void GenerateData() override;

  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  gigapixel::Size       GetInputSize() const;
  gigapixel::VolumeGrid GetInputGrid() const;

  std::string                             m_ModelFileName;
  std::shared_ptr<const gigapixel::Model> m_Model;
  gigapixel::SegmentationOptions          m_Segmentation;
  gigapixel::ComputingOptions             m_Computing;
};

/** \throw std::exception a sentence where the model does not take volumes of so many channels */
GigapixelUNet_EXPORT void GigapixelCheckTakesVolume(const gigapixel::Model & model,
                                                    const gigapixel::Size &  size,
                                                    unsigned                 channels);

/** The run with the tiles that fit beside the results.
 * \param memory,tileSize as the filter has them
 * \param givesLabels whether the filter gives labels, not probabilities
 * \throw gigapixel::MemoryLimitError not one tile fits */
GigapixelUNet_EXPORT gigapixel::VolumeRun GigapixelPlanVolume(const gigapixel::Model &      model,
                                                              const gigapixel::VolumeGrid & grid,
                                                              std::int64_t                  memory,
                                                              std::int64_t                  tileSize,
                                                              bool                          givesLabels,
                                                              gigapixel::VolumeRun          run);

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkGigapixelNetworkImageFilter.hxx"
#endif

#endif
