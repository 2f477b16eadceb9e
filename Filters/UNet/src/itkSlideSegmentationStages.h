/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkSlideSegmentationStages_h
#define itkSlideSegmentationStages_h

#include "itkSlideSegmentationImageSource.h"

#include "gigapixelFollowedSlide.h"
#include "gigapixelSlideMemory.h"
#include "gigapixelTissueSource.h"

#include "itkBinaryHoleFillImageFilter.h"
#include "itkExtractImageFilter.h"
#include "itkGlassValueImageFilter.h"
#include "itkImageFileReader.h"
#include "itkVectorImage.h"
#include "itkWholeSlideImageIO.h"

#include <ctime>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace itk
{

/** Of this process, of all threads. */
inline double
GetCPUSeconds()
{
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/** Adds what the process spends while the filter computes; the filters of a pipeline take turns. */
inline void
Measure(ProcessObject * filter, double & seconds)
{
  const auto begin = std::make_shared<double>(0); // apart: a filter that fails has a start and no end
  filter->AddObserver(StartEvent(), [begin](const EventObject &) { *begin = GetCPUSeconds(); });
  filter->AddObserver(EndEvent(), [begin, &seconds](const EventObject &) { seconds += GetCPUSeconds() - *begin; });
}

/** The stages that change the whole mask, one for each mask option. Probabilities have none. */
template <typename TImage>
std::vector<typename ImageSource<TImage>::Pointer>
MakeMaskStages(TImage * mask, const gigapixel::SegmentationOptions & options)
{
  std::vector<typename ImageSource<TImage>::Pointer> stages;
  if constexpr (std::is_same_v<typename TImage::PixelType, unsigned char>)
  {
    const auto add = [&](auto * stage) {
      stage->SetInput(stages.empty() ? mask : stages.back()->GetOutput());
      stages.push_back(stage);
    };
    if (options.fillHoles)
    {
      add(BinaryHoleFillImageFilter<TImage>::New().GetPointer());
    }
  }
  return stages;
}

/** \param tissue null: the image as it is */
template <typename TImage>
typename ImageSource<TImage>::Pointer
MakeGlassValue(TImage *                                             image,
               const std::shared_ptr<const gigapixel::TissueMask> & tissue,
               const typename TImage::PixelType &                   value,
               bool                                                 askForGlass)
{
  const auto filter = GlassValueImageFilter<TImage>::New();
  filter->SetInput(image);
  filter->SetTissue(tissue);
  filter->SetGlassValue(value);
  filter->SetAskForGlass(askForGlass);
  return filter.GetPointer();
}

/** The pipeline from the slide to its segmentation. It holds the filters, because an image does not keep the filter
 * that makes it. */
template <typename TOutputImage>
struct SlideSegmentationImageSource<TOutputImage>::Stages
{
  gigapixel::FollowedSlide                      given;
  WholeSlideImageIO::Pointer                    slide; ///< a copy of what was given
  std::shared_ptr<const gigapixel::Model>       model;
  std::shared_ptr<const gigapixel::TissueMask>  tissue; ///< null: everything is
  std::string                                   tissueIdentity;
  std::shared_ptr<gigapixel::KeptNormalization> normalization; ///< null: the network states none
  ProcessObject::Pointer                        reader;
  ProcessObject::Pointer                        paintedGlass; ///< null: without a tissue mask
  typename ImageSource<TOutputImage>::Pointer   network;
  typename ImageSource<TOutputImage>::Pointer   emptyGlass; ///< null: without a tissue mask
  typename ImageSource<TOutputImage>::Pointer   region;     ///< null: all of the level
  /** They change the whole mask, one after another; often none. */
  std::vector<typename ImageSource<TOutputImage>::Pointer> maskStages;
  std::function<std::vector<ImageRegion<2>>()>             getOwnRows;
  std::function<void(std::int64_t)> countBeside; ///< what others than the engine take, but for these bytes
  gigapixel::StageSeconds           seconds;

  ImageSource<TOutputImage> &
  GetComputed() const
  {
    return region ? *region : emptyGlass ? *emptyGlass : *network;
  }

  ImageSource<TOutputImage> &
  GetLast() const
  {
    return maskStages.empty() ? GetComputed() : *maskStages.back();
  }

  template <typename TImage>
  void Connect(const SlideSegmentationImageSource & source);
};

template <typename TOutputImage>
template <typename TImage>
void
SlideSegmentationImageSource<TOutputImage>::Stages::Connect(const SlideSegmentationImageSource & source)
{
  const auto file = ImageFileReader<TImage>::New();
  file->SetImageIO(slide);
  file->SetFileName(slide->GetFileName());
  Measure(file, seconds.pixels);
  reader = file.GetPointer();
  const auto unet = GigapixelUNetImageFilter<TImage, TOutputImage>::New();
  unet->SetInput(file->GetOutput());
  paintedGlass = nullptr;
  if (tissue)
  {
    using PixelType = typename TImage::PixelType;
    PixelType glass;
    NumericTraits<PixelType>::SetLength(glass, static_cast<unsigned>(model->network.channels));
    if constexpr (std::is_same_v<TImage, VectorImage<float, 2>>)
    {
      const bool isOfBytes = slide->GetComponentType() == IOComponentEnum::UCHAR;
      glass.Fill(model->network.GetGlass(isOfBytes ? gigapixel::SampleType::UInt8 : gigapixel::SampleType::Float));
    }
    else
    {
      glass = NumericTraits<PixelType>::max(glass);
    }
    const auto painted = MakeGlassValue<TImage>(file->GetOutput(), tissue, glass, false);
    unet->SetInput(painted->GetOutput());
    paintedGlass = painted.GetPointer();
  }
  unet->SetSharedModel(model);
  unet->SetNormalization(normalization);
  gigapixel::ComputingOptions computing = source.m_Computing;
  computing.tileSize = source.m_Patching.slidingWindow ? 0 : source.GetEffectiveTileSize();
  unet->SetComputingOptions(computing);
  unet->SetSegmentationOptions(source.m_Segmentation);
  unet->SetOutputMode(source.m_OutputMode);
  if (const auto patches = source.GetPatches())
  {
    unet->SetPatches(*patches);
  }
  unet->SetRanks(source.m_Ranks);
  int threads = GigapixelCountThreads(source);
  countBeside = [](std::int64_t) {};
  if (source.m_Computing.memoryLimit > 0)
  {
    const auto                   limit = static_cast<std::int64_t>(source.m_Computing.memoryLimit);
    const gigapixel::SlideMemory memory = source.CountSlideMemory();
    threads = memory.reading.LimitThreads(threads, limit);
    countBeside = [filter = unet.GetPointer(), memory](std::int64_t further) {
      filter->SetBesideBytes([memory, further](std::int64_t bytes) { return memory.GetBytes(bytes) + further; });
    };
    countBeside(0);
  }
  unet->SetNumberOfWorkUnits(static_cast<ThreadIdType>(threads));
  Measure(unet, seconds.network);
  getOwnRows = [filter = unet.GetPointer(), &source] { return filter->GetOwnRows(source.m_SlideRegion); };
  network = unet.GetPointer();
  // Asks for glass: with several ranks, all of them compute the same rows.
  emptyGlass = tissue ? MakeGlassValue<TOutputImage>(network->GetOutput(), tissue, 0, true) : nullptr;
  region = nullptr;
  const auto all = slide->GetLevelSize(slide->GetLevel());
  if (source.m_SlideRegion.GetSize(0) != all[0] || source.m_SlideRegion.GetSize(1) != all[1])
  {
    // Copies what it takes. Not RegionOfInterestImageFilter, which asks for all of its region at once.
    const auto extract = ExtractImageFilter<TOutputImage, TOutputImage>::New();
    extract->SetInput((emptyGlass ? emptyGlass : network)->GetOutput());
    extract->SetDirectionCollapseToSubmatrix();
    extract->SetExtractionRegion(source.m_SlideRegion);
    region = extract.GetPointer();
  }
  maskStages = MakeMaskStages<TOutputImage>(GetComputed().GetOutput(), source.m_Segmentation);
}

} // namespace itk

#endif
