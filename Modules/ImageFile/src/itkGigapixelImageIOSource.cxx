/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelImageIOSource.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelMaskLabelSource.h"
#include "gigapixelPlainMessage.h"
#include "gigapixelWholeFile.h"
#include "itkMetaDataObject.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <locale>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace itk
{
namespace
{

gigapixel::Refusal
Failure(const std::string & code, const std::string & name, const std::string & why, const std::string & remedy = {})
{
  return gigapixel::Refusal(gigapixel::Diagnostic(code, why, remedy).OfFile(name));
}

/** Calls what may throw ITK's exceptions, and throws one sentence. */
template <typename TFunction>
auto
WithName(const std::string & name, const TFunction & function)
{
  try
  {
    return function();
  }
  catch (const ExceptionObject & error)
  {
    gigapixel::Diagnostic diagnostic = gigapixel::Diagnostic::Of(error);
    if (diagnostic.code == "E-OTHER") // ITK's readers refuse what they cannot decode
    {
      const std::string reason = gigapixel::DescribeFailedReading(gigapixel::CleanMessage(error.GetDescription()));
      const std::size_t remedy = reason.find("; get it again");
      diagnostic = remedy == std::string::npos
                     ? gigapixel::Diagnostic("E-FILE-DAMAGED", reason)
                     : gigapixel::Diagnostic("E-FILE-DAMAGED", reason.substr(0, remedy), reason.substr(remedy + 2));
    }
    if (diagnostic.file.empty())
    {
      diagnostic.file = name;
    }
    throw gigapixel::Refusal(diagnostic);
  }
}

/** \throw std::runtime_error for what is no number (NaN), a fraction, below 0 or, unless such are 255, above what a
 * sample holds */
template <typename TComponent, typename TSample>
void
ConvertTo(const std::vector<unsigned char> & in,
          TSample *                          out,
          std::size_t                        samples,
          HighSamples                        high,
          const std::string &                name)
{
  constexpr double most = std::numeric_limits<TSample>::max();
  const auto *     components = reinterpret_cast<const TComponent *>(in.data());
  for (std::size_t i = 0; i < samples; ++i)
  {
    const TComponent value = components[i];
    const bool       isFinite = value <= std::numeric_limits<TComponent>::max();
    const auto       number = static_cast<double>(value);
    const bool       isHigh = number > most && isFinite && high == HighSamples::Are255;
    const bool       fits = number >= 0 && number <= most;
    out[i] = isHigh ? 255 : fits ? static_cast<TSample>(value) : 0;
    if (!isHigh && (!fits || static_cast<TComponent>(out[i]) != value))
    {
      std::ostringstream text;
      text.imbue(std::locale::classic());
      text << +value;
      const std::string shown = std::isnan(number) ? "nan" : text.str(); // without a sign
      const bool        isMask = high != HighSamples::Refused;
      throw gigapixel::Refusal(
        gigapixel::Diagnostic(isMask ? "E-LABEL-VALUE" : "E-SLIDE-CHANNELS",
                              isMask ? "the value " + shown + " is no label, which is a whole number from 0 to " +
                                         std::to_string(std::numeric_limits<TSample>::max())
                                     : "the value " + shown + " does not fit in 8 bits",
                              isMask ? "correct the mask; numbered objects become a mask with convert --window 0,1"
                                     : "convert the image to unsigned char")
          .OfFile(name)
          .OfValue(shown));
    }
  }
}

class ImageIOSource : public gigapixel::PixelSource
{
public:
  ImageIOSource(GigapixelImageIOMaker make, std::string name, HighSamples high)
    : m_Make(std::move(make))
    , m_Name(std::move(name))
    , m_HighSamples(high)
  {
    const ImageIOBase::Pointer io = this->Open();
    this->RefuseOtherShapes(*io);
    m_Dimensions = io->GetNumberOfDimensions();
    m_Size = gigapixel::Size{ static_cast<std::int64_t>(io->GetDimensions(0)),
                              static_cast<std::int64_t>(io->GetDimensions(1)) };
    m_Channels = io->GetNumberOfComponents();
    m_Component = io->GetComponentType();
    m_Idle.push_back(io);
  }

  gigapixel::Grid
  GetGrid() const
  {
    return gigapixel::Grid::Of(*m_Idle.front());
  }

  /** Of a segmentation of 3D Slicer with one segment: its value, else 0. */
  std::uint8_t
  GetObjectValue() const
  {
    const MetaDataDictionary & dictionary = m_Idle.front()->GetMetaDataDictionary();
    std::string                value;
    if (!dictionary.HasKey("Segment1_ID"))
    {
      ExposeMetaData(dictionary, "Segment0_LabelValue", value);
    }
    const long number = std::strtol(value.c_str(), nullptr, 10);
    return number > 0 && number < 256 ? static_cast<std::uint8_t>(number) : 0;
  }

  /** What the image takes where its reader cannot read a part: in bytes, from the first read on, and beside them while
   * samples of other types are made bytes. */
  std::array<std::int64_t, 2>
  GetWholeBytes() const
  {
    ImageIOBase &           io = *m_Idle.front();
    const gigapixel::Region readable = this->GetReadable(io, gigapixel::Region{ 0, 0, 1, 1 });
    const bool              isWhole = readable.width == m_Size.width && readable.height == m_Size.height;
    const auto              samples = isWhole ? m_Size.width * m_Size.height * std::int64_t{ m_Channels } : 0;
    const bool              areBytes = m_Component == IOComponentEnum::UCHAR;
    return { samples * gigapixel::GetSampleBytes(this->GetSampleType()),
             areBytes ? 0 : samples * static_cast<std::int64_t>(io.GetComponentSize()) };
  }

  gigapixel::Size
  GetSize() const override
  {
    return m_Size;
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  gigapixel::SampleType
  GetSampleType() const override
  {
    const bool isWide = m_HighSamples == HighSamples::Kept && m_Component != IOComponentEnum::UCHAR;
    return isWide ? gigapixel::SampleType::UInt32 : gigapixel::SampleType::UInt8;
  }

  void
  Read(const gigapixel::Region & region, std::uint8_t * samples) override
  {
    if (const auto whole = this->GetWhole())
    {
      this->Copy(*whole, gigapixel::Region{ 0, 0, m_Size.width, m_Size.height }, region, samples);
      return;
    }
    const ImageIOBase::Pointer io = this->Borrow();
    gigapixel::Region          readable = this->GetReadable(*io, region);
    if (readable.width == m_Size.width && readable.height == m_Size.height &&
        !(region.width == m_Size.width && region.height == m_Size.height))
    {
      this->Copy(*this->KeepWhole(*io), readable, region, samples);
    }
    else if (readable.width == region.width && readable.height == region.height)
    {
      this->ReadBytes(*io, region, samples);
    }
    else
    {
      std::vector<std::uint8_t> buffer(this->CountBytes(readable));
      this->ReadBytes(*io, readable, buffer.data());
      this->Copy(buffer, readable, region, samples);
    }
    // Only a reader that has read well goes back: one that threw may be in any state.
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Idle.push_back(io);
  }

private:
  using Bytes = std::vector<std::uint8_t>;

  ImageIOBase::Pointer
  Open() const
  {
    return WithName(m_Name, [this] {
      const ImageIOBase::Pointer io = m_Make();
      if (io.IsNull())
      {
        throw Failure("E-FILE-KIND",
                      m_Name,
                      "no reader knows this kind of file",
                      "convert it to a tiled TIFF of 8 bit, PNG, NRRD or MetaImage");
      }
      io->ReadImageInformation();
      io->SetUseStreamedReading(gigapixel::IsReadInParts(io->GetFileName()));
      return io;
    });
  }

  void
  RefuseOtherShapes(const ImageIOBase & io) const
  {
    if (io.GetNumberOfDimensions() < 2)
    {
      throw Failure("E-FILE-KIND", m_Name, "it has one axis, where an image has rows and columns");
    }
    for (unsigned d = 2; d < io.GetNumberOfDimensions(); ++d)
    {
      if (io.GetDimensions(d) != 1)
      {
        throw Failure("E-FILE-KIND",
                      m_Name,
                      "it has " + gigapixel::FormatCount(io.GetDimensions(d), "slice") + ", where an image has one",
                      "give one of them");
      }
    }
    // What 3D Slicer says of a segmentation; the classes are the values of its pixels, which is what it calls labels.
    if (io.GetNumberOfComponents() > 1 && io.GetMetaDataDictionary().HasKey("Segment0_ID"))
    {
      throw Failure("E-MASK-FORMAT",
                    m_Name,
                    gigapixel::DescribeLayers(io.GetNumberOfComponents()),
                    "export the segments to a labelmap in 3D Slicer, and save that");
    }
  }

  ImageIOBase::Pointer
  Borrow()
  {
    {
      const std::lock_guard<std::mutex> lock(m_Mutex);
      if (!m_Idle.empty())
      {
        const ImageIOBase::Pointer io = m_Idle.back();
        m_Idle.pop_back();
        return io;
      }
    }
    return this->Open();
  }

  std::shared_ptr<const Bytes>
  GetWhole()
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    return m_Whole;
  }

  /** Reads the file once for all, if no other thread has by now. */
  std::shared_ptr<const Bytes>
  KeepWhole(ImageIOBase & io)
  {
    const std::lock_guard<std::mutex> reading(m_WholeMutex);
    if (auto whole = this->GetWhole())
    {
      return whole;
    }
    const gigapixel::Region all{ 0, 0, m_Size.width, m_Size.height };
    auto                    bytes = std::make_shared<Bytes>(this->CountBytes(all));
    this->ReadBytes(io, all, bytes->data());
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Whole = bytes;
    return bytes;
  }

  std::size_t
  CountSamples(const gigapixel::Region & region) const
  {
    return static_cast<std::size_t>(region.width * region.height) * m_Channels;
  }

  std::size_t
  CountBytes(const gigapixel::Region & region) const
  {
    return this->CountSamples(region) * this->GetSampleBytes();
  }

  std::size_t
  GetSampleBytes() const
  {
    return static_cast<std::size_t>(gigapixel::GetSampleBytes(this->GetSampleType()));
  }

  template <typename TComponent>
  void
  Convert(const std::vector<unsigned char> & buffer, std::uint8_t * samples, std::size_t count) const
  {
    this->GetSampleType() == gigapixel::SampleType::UInt8
      ? ConvertTo<TComponent>(buffer, samples, count, m_HighSamples, m_Name)
      : ConvertTo<TComponent>(buffer, reinterpret_cast<std::uint32_t *>(samples), count, m_HighSamples, m_Name);
  }

  ImageIORegion
  ToIORegion(const gigapixel::Region & region) const
  {
    ImageIORegion result(m_Dimensions);
    for (unsigned d = 2; d < m_Dimensions; ++d)
    {
      result.SetSize(d, 1);
    }
    result.SetIndex(0, region.x);
    result.SetIndex(1, region.y);
    result.SetSize(0, static_cast<SizeValueType>(region.width));
    result.SetSize(1, static_cast<SizeValueType>(region.height));
    return result;
  }

  /** What has to be read to get the region. */
  gigapixel::Region
  GetReadable(const ImageIOBase & io, const gigapixel::Region & region) const
  {
    return WithName(m_Name, [&] {
      const ImageIORegion given = io.GenerateStreamableReadRegionFromRequestedRegion(this->ToIORegion(region));
      return gigapixel::Region{ given.GetIndex(0),
                                given.GetIndex(1),
                                static_cast<std::int64_t>(given.GetSize(0)),
                                static_cast<std::int64_t>(given.GetSize(1)) };
    });
  }

  void
  ReadBytes(ImageIOBase & io, const gigapixel::Region & region, std::uint8_t * samples) const
  {
    const std::size_t count = this->CountSamples(region);
    WithName(m_Name, [&] {
      io.SetIORegion(this->ToIORegion(region));
      if (m_Component == IOComponentEnum::UCHAR)
      {
        io.Read(samples);
        return;
      }
      std::vector<unsigned char> buffer(count * io.GetComponentSize());
      io.Read(buffer.data());
      switch (m_Component)
      {
        case IOComponentEnum::CHAR:
          return this->Convert<signed char>(buffer, samples, count);
        case IOComponentEnum::USHORT:
          return this->Convert<unsigned short>(buffer, samples, count);
        case IOComponentEnum::SHORT:
          return this->Convert<short>(buffer, samples, count);
        case IOComponentEnum::UINT:
          return this->Convert<unsigned int>(buffer, samples, count);
        case IOComponentEnum::INT:
          return this->Convert<int>(buffer, samples, count);
        case IOComponentEnum::ULONG:
          return this->Convert<unsigned long>(buffer, samples, count);
        case IOComponentEnum::LONG:
          return this->Convert<long>(buffer, samples, count);
        case IOComponentEnum::ULONGLONG:
          return this->Convert<unsigned long long>(buffer, samples, count);
        case IOComponentEnum::LONGLONG:
          return this->Convert<long long>(buffer, samples, count);
        case IOComponentEnum::FLOAT:
          return this->Convert<float>(buffer, samples, count);
        case IOComponentEnum::DOUBLE:
          return this->Convert<double>(buffer, samples, count);
        default:
          throw Failure("E-SLIDE-CHANNELS",
                        m_Name,
                        "its samples are of " + ImageIOBase::GetComponentTypeAsString(m_Component),
                        "convert the image to unsigned char");
      }
    });
  }

  void
  Copy(const Bytes &             bytes,
       const gigapixel::Region & have,
       const gigapixel::Region & region,
       std::uint8_t *            samples) const
  {
    const std::size_t pixelBytes = m_Channels * this->GetSampleBytes();
    const auto        row = static_cast<std::size_t>(region.width) * pixelBytes;
    for (std::int64_t y = 0; y < region.height; ++y)
    {
      const std::int64_t pixel = (region.y - have.y + y) * have.width + region.x - have.x;
      std::memcpy(
        samples + static_cast<std::size_t>(y) * row, bytes.data() + static_cast<std::size_t>(pixel) * pixelBytes, row);
    }
  }

  GigapixelImageIOMaker             m_Make;
  std::string                       m_Name;
  HighSamples                       m_HighSamples;
  gigapixel::Size                   m_Size;
  unsigned                          m_Dimensions{ 2 };
  unsigned                          m_Channels{ 1 };
  IOComponentEnum                   m_Component{ IOComponentEnum::UCHAR };
  std::mutex                        m_Mutex; // of the two below
  std::vector<ImageIOBase::Pointer> m_Idle;
  std::shared_ptr<const Bytes>      m_Whole;
  std::mutex                        m_WholeMutex;
};

} // namespace

gigapixel::PhysicalImage
GigapixelImageIOSource(const GigapixelImageIOMaker & makeImageIO, const std::string & name, HighSamples high)
{
  const auto               source = std::make_shared<ImageIOSource>(makeImageIO, name, high);
  gigapixel::PhysicalImage result;
  result.name = name;
  result.grid = source->GetGrid();
  result.objectValue = source->GetObjectValue();
  const auto [held, reading] = source->GetWholeBytes();
  result.heldBytes = held;
  result.readingBytes = reading;
  result.pixels = source;
  return result;
}

} // namespace itk
