/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelImageSource.h"

#include "gigapixelDiagnostic.h"
#include "itkProcessObject.h"

#include <cstring>
#include <mutex>
#include <stdexcept>

namespace itk
{
namespace
{

gigapixel::Region
RegionFromFirstPixel(const ImageRegion<2> & region, const Index<2> & first)
{
  return gigapixel::Region{ region.GetIndex(0) - first[0],
                            region.GetIndex(1) - first[1],
                            static_cast<std::int64_t>(region.GetSize(0)),
                            static_cast<std::int64_t>(region.GetSize(1)) };
}

/** \class PipelineLock
 * \brief One thread at a time is in a pipeline, since ITK's are made for one.
 *
 * A network in that pipeline would wait for its own reading of an image in it, on this thread or on one of its own. */
class PipelineLock
{
public:
  /** \throw std::runtime_error this thread is in one already */
  PipelineLock()
  {
    if (m_IsHeld)
    {
      throw gigapixel::Refusal(
        gigapixel::Diagnostic("E-CALL-ORDER",
                              "what computes this image reads an image itself, for a network",
                              "call Update() of that filter before the image is given to another network"));
    }
    Mutex().lock();
    m_IsHeld = true;
  }

  ~PipelineLock()
  {
    m_IsHeld = false;
    Mutex().unlock();
  }

  PipelineLock(const PipelineLock &) = delete;
  PipelineLock & operator=(const PipelineLock &) = delete;

private:
  static std::mutex &
  Mutex()
  {
    static std::mutex mutex;
    return mutex;
  }

  static thread_local bool m_IsHeld;
};

thread_local bool PipelineLock::m_IsHeld = false;

/** The output of a pipeline. */
class ImageSource : public gigapixel::PixelSource
{
public:
  ImageSource(ImageBase<2> * image, std::function<const unsigned char *()> buffer, gigapixel::SampleType type)
    : m_Image(image)
    , m_Source(image->GetSource())
    , m_Buffer(std::move(buffer))
    , m_Whole(image->GetLargestPossibleRegion())
    , m_Channels(image->GetNumberOfComponentsPerPixel())
    , m_FormerRequest(image->GetRequestedRegion())
    , m_Type(type)
  {}

  ~ImageSource() override
  {
    if (m_Source)
    {
      m_Image->SetRequestedRegion(m_FormerRequest);
    }
  }

  gigapixel::Size
  GetSize() const override
  {
    return gigapixel::Size{ static_cast<std::int64_t>(m_Whole.GetSize(0)),
                            static_cast<std::int64_t>(m_Whole.GetSize(1)) };
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  gigapixel::SampleType
  GetSampleType() const override
  {
    return m_Type;
  }

  void
  Read(const gigapixel::Region & region, std::uint8_t * samples) override
  {
    if (!m_Source)
    {
      this->GetBuffered().Read(region, samples);
      return;
    }
    const PipelineLock lock;
    const Index<2>     index{ { m_Whole.GetIndex(0) + region.x, m_Whole.GetIndex(1) + region.y } };
    const Size<2>      size{ { static_cast<SizeValueType>(region.width), static_cast<SizeValueType>(region.height) } };
    m_Image->SetRequestedRegion(ImageRegion<2>(index, size));
    m_Image->Update();
    this->GetBuffered().Read(region, samples);
  }

  gigapixel::RowsInMemory
  FindRows(const gigapixel::Region & region) const override
  {
    return m_Source ? gigapixel::RowsInMemory{} : this->GetBuffered().FindRows(region);
  }

private:
  GigapixelBufferSource
  GetBuffered() const
  {
    return { m_Buffer(),
             RegionFromFirstPixel(m_Image->GetBufferedRegion(), m_Whole.GetIndex()),
             this->GetSize(),
             m_Channels,
             m_Type };
  }

  ImageBase<2>::Pointer                  m_Image;
  ProcessObject::Pointer                 m_Source; // an image holds its source only weakly
  std::function<const unsigned char *()> m_Buffer;
  ImageRegion<2>                         m_Whole;
  unsigned                               m_Channels;
  ImageRegion<2>                         m_FormerRequest;
  gigapixel::SampleType                  m_Type;
};

} // namespace

gigapixel::Grid
GigapixelGridOf(const ImageBase<2> & image)
{
  const ImageRegion<2> & region = image.GetLargestPossibleRegion();
  gigapixel::Grid        grid;
  grid.size.width = static_cast<std::int64_t>(region.GetSize(0));
  grid.size.height = static_cast<std::int64_t>(region.GetSize(1));
  ImageBase<2>::PointType first;
  image.TransformIndexToPhysicalPoint(region.GetIndex(), first);
  for (unsigned i = 0; i < 2; ++i)
  {
    grid.spacing[i] = image.GetSpacing()[i];
    grid.origin[i] = first[i];
    for (unsigned j = 0; j < 2; ++j)
    {
      grid.direction[2 * i + j] = image.GetDirection()(i, j);
    }
  }
  return grid;
}

GigapixelBufferSource::GigapixelBufferSource(const unsigned char *     buffer,
                                             const gigapixel::Region & buffered,
                                             gigapixel::Size           image,
                                             unsigned                  channels,
                                             gigapixel::SampleType     type)
  : m_Buffer(buffer)
  , m_Buffered(buffered)
  , m_Size(image)
  , m_Channels(channels)
  , m_Type(type)
{}

gigapixel::Size
GigapixelBufferSource::GetSize() const
{
  return m_Size;
}

unsigned
GigapixelBufferSource::GetNumberOfChannels() const
{
  return m_Channels;
}

gigapixel::SampleType
GigapixelBufferSource::GetSampleType() const
{
  return m_Type;
}

gigapixel::RowsInMemory
GigapixelBufferSource::FindRows(const gigapixel::Region & region) const
{
  const gigapixel::Region & have = m_Buffered;
  if (region.x < have.x || region.y < have.y || region.x + region.width > have.x + have.width ||
      region.y + region.height > have.y + have.height)
  {
    throw gigapixel::RefusalOf<std::out_of_range>(
      gigapixel::Diagnostic("E-REGION", "pixels outside the buffered region of an image were asked for"));
  }
  const std::ptrdiff_t pixel = m_Channels * gigapixel::GetSampleBytes(m_Type);
  const std::ptrdiff_t pitch = have.width * pixel;
  return { m_Buffer + (region.y - have.y) * pitch + (region.x - have.x) * pixel, pitch };
}

void
GigapixelBufferSource::Read(const gigapixel::Region & region, std::uint8_t * samples)
{
  const gigapixel::RowsInMemory rows = this->FindRows(region);
  const auto rowBytes = static_cast<std::size_t>(region.width * m_Channels * gigapixel::GetSampleBytes(m_Type));
  for (std::int64_t y = 0; y < region.height; ++y, samples += rowBytes)
  {
    std::memcpy(samples, rows.first + y * rows.pitch, rowBytes);
  }
}

gigapixel::PhysicalImage
GigapixelImageSource(ImageBase<2> *                                 image,
                     const std::string &                            name,
                     const std::function<const unsigned char *()> & buffer,
                     gigapixel::SampleType                          type)
{
  {
    const PipelineLock lock;
    image->UpdateOutputInformation();
  }
  gigapixel::PhysicalImage result;
  result.name = name;
  result.pixels = std::make_shared<ImageSource>(image, buffer, type);
  result.grid = GigapixelGridOf(*image);
  return result;
}

} // namespace itk
