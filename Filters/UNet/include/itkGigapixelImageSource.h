/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelImageSource_h
#define itkGigapixelImageSource_h

#include "GigapixelUNetExport.h"
#include "gigapixelPhysicalImage.h"
#include "itkImageBase.h"
#include "itkNumericTraits.h"

#include <functional>
#include <string>
#include <type_traits>

namespace itk
{

/** The engine's grid of an ITK image, from its largest possible region. */
GigapixelUNet_EXPORT gigapixel::Grid GigapixelGridOf(const ImageBase<2> & image);

/** \class GigapixelBufferSource
 * \brief Samples that lie in memory already: no lock, no pipeline.
 *
 * Coordinates are those of the whole image, (0, 0) its first pixel; only what is buffered can be read, everything else
 * is an error (std::out_of_range). The memory is not owned. Samples are bytes or floats. */
class GigapixelUNet_EXPORT GigapixelBufferSource : public gigapixel::PixelSource
{
public:
  /** \param buffer address of the first buffered sample, channels interleaved, rows without gaps
   * \param buffered the region in memory \param image size of the whole image \param channels 1: gray, 3: RGB
   * \param type of the samples */
  GigapixelBufferSource(const unsigned char *     buffer,
                        const gigapixel::Region & buffered,
                        gigapixel::Size           image,
                        unsigned                  channels,
                        gigapixel::SampleType     type = gigapixel::SampleType::UInt8);

  gigapixel::Size GetSize() const override;

  unsigned GetNumberOfChannels() const override;

  gigapixel::SampleType GetSampleType() const override;

  void Read(const gigapixel::Region & region, std::uint8_t * samples) override;

  gigapixel::RowsInMemory FindRows(const gigapixel::Region & region) const override;

private:
  const unsigned char * m_Buffer;
  gigapixel::Region     m_Buffered;
  gigapixel::Size       m_Size;
  unsigned              m_Channels;
  gigapixel::SampleType m_Type;
};

/** Whether an image has samples of unsigned char or float, which networks take. */
template <typename TImage>
constexpr bool
GigapixelTakesImage()
{
  using SampleType = typename NumericTraits<typename TImage::PixelType>::ValueType;
  return std::is_same<SampleType, unsigned char>::value || std::is_same<SampleType, float>::value;
}

/** The type of an image's samples. */
template <typename TImage>
constexpr gigapixel::SampleType
GigapixelSampleType()
{
  return std::is_same<typename NumericTraits<typename TImage::PixelType>::ValueType, float>::value
           ? gigapixel::SampleType::Float
           : gigapixel::SampleType::UInt8;
}

/** Untyped part of GigapixelImageSource(). \param buffer gives the address of the image's first buffered sample */
GigapixelUNet_EXPORT gigapixel::PhysicalImage GigapixelImageSource(
  ImageBase<2> *                                 image,
  const std::string &                            name,
  const std::function<const unsigned char *()> & buffer,
  gigapixel::SampleType                          type = gigapixel::SampleType::UInt8);

/** The pixels of an ITK image for the engine, region by region.
 *
 * The output of a pipeline is updated for each region that is read. ITK's pipelines are not re-entrant and may share
 * filters, so one lock for the process stands before them all. An image without a source is read where it lies,
 * without a lock. The image's source is kept alive, and the requested region is put back in the end.
 *
 * \param constImage Image or VectorImage of unsigned char or float samples, in two dimensions; its information is
 * updated here, which may throw */
template <typename TImage>
gigapixel::PhysicalImage
GigapixelImageSource(const TImage * constImage, const std::string & name = "image")
{
  static_assert(TImage::ImageDimension == 2, "Gigapixel images have two dimensions: take a slice first");
  static_assert(GigapixelTakesImage<TImage>(),
                "Gigapixel images have samples of unsigned char or float: rescale or cast first");
  auto * image = const_cast<TImage *>(constImage); // as in every ITK pipeline, an update changes what it is given
  return GigapixelImageSource(
    image,
    name,
    [image] { return reinterpret_cast<const unsigned char *>(image->GetBufferPointer()); },
    GigapixelSampleType<TImage>());
}

} // namespace itk

#endif
