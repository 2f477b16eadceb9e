/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGlassValueImageFilter_h
#define itkGlassValueImageFilter_h

#include "gigapixelTissueSource.h"
#include "itkImageToImageFilter.h"

#include <memory>
#include <vector>

namespace itk
{

/** \class GlassValueImageFilter
 * \brief Gives all pixels that are no tissue one value.
 *
 * The tissue mask may lie on any grid (gigapixel::TissueMask). It streams: of a region the input is asked only for the
 * rectangle around its tissue, so that glass is not even read.
 *
 * \tparam TImage 2-D image \ingroup Streamed */
template <typename TImage>
class ITK_TEMPLATE_EXPORT GlassValueImageFilter : public ImageToImageFilter<TImage, TImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(GlassValueImageFilter);

  using Self = GlassValueImageFilter;
  using Superclass = ImageToImageFilter<TImage, TImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  using PixelType = typename TImage::PixelType;
  using RegionType = typename TImage::RegionType;

  itkNewMacro(Self);
  itkTypeMacro(GlassValueImageFilter, ImageToImageFilter);

  /** Of the input's largest possible region, whose size is checked. Required. */
  void SetTissue(std::shared_ptr<const gigapixel::TissueMask> tissue);

  /** What glass becomes; the default is the value of PixelType(). */
  itkSetMacro(GlassValue, PixelType);
  itkGetConstReferenceMacro(GlassValue, PixelType);

  /** Asks the input for glass as well: where the input is to know of each region that is made. Default off. */
  itkSetMacro(AskForGlass, bool);
  itkGetConstMacro(AskForGlass, bool);
  itkBooleanMacro(AskForGlass);

protected:
  GlassValueImageFilter();
  ~GlassValueImageFilter() override = default;

  void VerifyPreconditions() const override;
  void VerifyInputInformation() const override;
  void GenerateInputRequestedRegion() override;
  void BeforeThreadedGenerateData() override;
  void DynamicThreadedGenerateData(const RegionType & region) override;
  void AfterThreadedGenerateData() override;
  void PrintSelf(std::ostream & os, Indent indent) const override;

private:
  /** In pixels of the whole image, the first of which is (0, 0). */
  gigapixel::Region ToWhole(const RegionType & region) const;
  /** Reads where in the region there is tissue. \return the rectangle around it, empty where there is none */
  RegionType ReadTissue(const RegionType & region);

  std::shared_ptr<const gigapixel::TissueMask> m_Tissue;
  PixelType                                    m_GlassValue{};
  bool                                         m_AskForGlass{ false };
  std::vector<unsigned char>                   m_IsTissue; ///< of the region that ReadTissue() was called with
  RegionType                                   m_Extent;
};

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkGlassValueImageFilter.hxx"
#endif

#endif
