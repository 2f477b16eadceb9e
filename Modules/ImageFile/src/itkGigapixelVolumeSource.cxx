/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelVolumeSource.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelFileIdentity.h"
#include "gigapixelWholeFile.h"
#include "itkGigapixelDicomSeries.h"
#include "itkGigapixelVolumeIO.h"
#include "itkGigapixelVolumeShape.h"
#include "volumes/gigapixelVolumeFormat.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>

namespace itk
{
namespace
{
namespace fs = std::filesystem;

/** Calls the function with a value of the type that samples have in memory. */
template <typename TFunction>
void
WithType(IOComponentEnum type, const TFunction & function)
{
  switch (type)
  {
    case IOComponentEnum::UCHAR:
      return function(static_cast<unsigned char>(0));
    case IOComponentEnum::CHAR:
      return function(static_cast<signed char>(0));
    case IOComponentEnum::USHORT:
      return function(static_cast<unsigned short>(0));
    case IOComponentEnum::SHORT:
      return function(static_cast<short>(0));
    case IOComponentEnum::UINT:
      return function(static_cast<unsigned int>(0));
    case IOComponentEnum::INT:
      return function(static_cast<int>(0));
    case IOComponentEnum::ULONG:
      return function(static_cast<unsigned long>(0));
    case IOComponentEnum::LONG:
      return function(static_cast<long>(0));
    case IOComponentEnum::ULONGLONG:
      return function(static_cast<unsigned long long>(0));
    case IOComponentEnum::LONGLONG:
      return function(static_cast<long long>(0));
    case IOComponentEnum::DOUBLE:
      return function(0.0);
    default:
      return function(0.0f);
  }
}

std::size_t
GetBytes(IOComponentEnum type)
{
  std::size_t bytes = 0;
  WithType(type, [&bytes](auto sample) { bytes = sizeof(sample); });
  return bytes;
}

/** Those that are kept in memory as they are. */
bool
IsKept(IOComponentEnum type)
{
  return type == IOComponentEnum::FLOAT || GetBytes(type) <= 2;
}

/** The channels of one file. */
class VolumePart
{
public:
  explicit VolumePart(const std::string & file)
    : m_File(file)
  {
    if (GigapixelIsDicomFolder(file))
    {
      m_Series = GigapixelDicomSeries::Find(file);
      m_Shape = m_Series->shape;
    }
    else
    {
      m_Shape = GigapixelVolumeShape::Get(file, *OpenVolume(file));
    }
    this->RequireRoom();
  }

  const gigapixel::VolumeGrid &
  GetGrid() const
  {
    return m_Shape.grid;
  }

  unsigned
  GetNumberOfChannels() const
  {
    return m_Shape.components * m_Shape.planes;
  }

  std::string
  GetSampleType() const
  {
    return ImageIOBase::GetComponentTypeAsString(m_Shape.type);
  }

  std::int64_t
  GetHeldBytes() const
  {
    return this->CountSamples() *
           static_cast<std::int64_t>(IsKept(m_Shape.type) ? GetBytes(m_Shape.type) : sizeof(float));
  }

  const GigapixelVolumeShape &
  GetShape() const
  {
    return m_Shape;
  }

  /** Our readers take what is read, and its floats where these are kept. ITK's readers take as much again. */
  std::int64_t
  GetReadingBytes() const
  {
    if (m_Series) // whose slices are read one by one
    {
      const std::int64_t slices = m_Shape.grid.size.depth;
      return this->CountSamples() * static_cast<std::int64_t>(GetBytes(m_Shape.type)) * (slices + 2) / slices;
    }
    const auto         read = this->CountSamples() * static_cast<std::int64_t>(GetBytes(m_Shape.type));
    const auto * const format = gigapixel::FindVolumeFormat(m_File);
    const bool isOurs = format != nullptr && format->makeReader != nullptr && format->makeReader(m_File).IsNotNull();
    return read + (!isOurs ? read : IsKept(m_Shape.type) ? 0 : this->GetHeldBytes());
  }

  /** Once, whoever comes first. */
  void
  Load()
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    if (!m_Samples.empty())
    {
      return;
    }
    std::vector<unsigned char> samples;
    if (m_Series)
    {
      m_Series->Read(samples);
    }
    else
    {
      gigapixel::RequireWholeCompression(m_File);
      samples = this->ReadSamples();
    }
    if (!IsKept(m_Shape.type))
    {
      this->ConvertToFloats(samples);
      m_Shape.type = IOComponentEnum::FLOAT;
    }
    this->RequireNumbers(samples);
    m_Samples = std::move(samples);
  }

  /** \param samples of the region's first voxel, in which channels follow each other \param step samples of a voxel */
  void
  Read(const gigapixel::Region & region, float * samples, std::size_t step) const
  {
    WithType(m_Shape.type, [&](auto type) {
      const auto * const all = reinterpret_cast<const decltype(type) *>(m_Samples.data());
      for (unsigned channel = 0; channel < this->GetNumberOfChannels(); ++channel)
      {
        float * out = samples + channel;
        for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
        {
          for (std::int64_t y = region.y; y < region.y + region.height; ++y)
          {
            const std::int64_t plane = channel / m_Shape.components;
            const std::int64_t row = (plane * m_Shape.grid.size.depth + z) * m_Shape.grid.size.height + y;
            const auto *       in =
              all + (row * m_Shape.grid.size.width + region.x) * m_Shape.components + channel % m_Shape.components;
            for (std::int64_t x = 0; x < region.width; ++x, in += m_Shape.components, out += step)
            {
              *out = static_cast<float>(*in);
            }
          }
        }
      }
    });
  }

private:
  /** What a header says costs memory: no compression makes a thousandth of what it is given. */
  void
  RequireRoom() const
  {
    constexpr double BestCompression = 1100;
    std::error_code  error;
    double           bytes = 0;
    if (m_Series)
    {
      bytes = static_cast<double>(m_Series->fileBytes);
    }
    else
    {
      const auto * const format = gigapixel::FindVolumeFormat(m_File);
      for (const fs::path file : format != nullptr ? format->listFiles(m_File) : std::vector<std::string>{ m_File })
      {
        bytes += static_cast<double>(fs::file_size(file, error));
      }
    }
    const double wanted = static_cast<double>(m_Shape.grid.size.width) * static_cast<double>(m_Shape.grid.size.height) *
                          static_cast<double>(m_Shape.grid.size.depth) * m_Shape.components * m_Shape.planes *
                          static_cast<double>(GetBytes(m_Shape.type));
    if (wanted > BestCompression * bytes)
    {
      throw gigapixel::Refusal(gigapixel::Diagnostic("E-FILE-DAMAGED",
                                                     "it is cut short or damaged: its header promises " +
                                                       std::to_string(m_Shape.grid.size.width) + " x " +
                                                       std::to_string(m_Shape.grid.size.height) + " x " +
                                                       gigapixel::FormatCount(m_Shape.grid.size.depth, "voxel") +
                                                       ", far more than the file can hold",
                                                     "get it again from where it came")
                                 .OfFile(m_File));
    }
  }

  std::int64_t
  CountSamples() const
  {
    return m_Shape.CountSamples();
  }

  /** In the file's type. What the reader itself holds goes with it. */
  std::vector<unsigned char>
  ReadSamples() const
  {
    const ImageIOBase::Pointer io = OpenVolume(m_File);
    if (!m_Shape.HasSameSamples(GigapixelVolumeShape::Get(m_File, *io)))
    {
      throw gigapixel::Refusal(
        gigapixel::Diagnostic("E-FILE-CHANGED", "the file changed after it was first read", "run again")
          .OfFile(m_File));
    }
    std::vector<unsigned char> samples(static_cast<std::size_t>(this->CountSamples()) * GetBytes(m_Shape.type));
    ReadWholeVolume(*io, samples.data());
    return samples;
  }

  /** In place: they are no shorter than floats. */
  void
  ConvertToFloats(std::vector<unsigned char> & samples) const
  {
    const auto number = static_cast<std::size_t>(this->CountSamples());
    WithType(m_Shape.type, [&](auto sample) {
      for (std::size_t i = 0; i < number; ++i)
      {
        std::memcpy(&sample, samples.data() + i * sizeof(sample), sizeof(sample));
        const auto value = static_cast<float>(sample);
        std::memcpy(samples.data() + i * sizeof(value), &value, sizeof(value));
      }
    });
    samples.resize(number * sizeof(float));
    samples.shrink_to_fit();
  }

  void
  RequireNumbers(const std::vector<unsigned char> & samples) const
  {
    if (m_Shape.type != IOComponentEnum::FLOAT)
    {
      return;
    }
    const auto * const first = reinterpret_cast<const float *>(samples.data());
    const auto * const end = first + this->CountSamples();
    const auto * const bad = std::find_if_not(first, end, [](float value) { return std::isfinite(value); });
    if (bad != end)
    {
      const std::int64_t voxel = (bad - first) / m_Shape.components;
      const auto &       size = m_Shape.grid.size;
      throw gigapixel::Refusal(gigapixel::Diagnostic("E-NOT-FINITE",
                                                     "its voxel " + std::to_string(voxel % size.width) + ", " +
                                                       std::to_string(voxel / size.width % size.height) + ", " +
                                                       std::to_string(voxel / size.width / size.height % size.depth) +
                                                       " is no finite number (NaN or infinite)",
                                                     "replace such values, by 0 for instance")
                                 .OfFile(m_File));
    }
  }

  std::string                         m_File; ///< or the folder of a series
  std::optional<GigapixelDicomSeries> m_Series;
  GigapixelVolumeShape                m_Shape;
  std::mutex                          m_Mutex;
  std::vector<unsigned char>          m_Samples;
};

class VolumeSource : public gigapixel::PixelSource
{
public:
  explicit VolumeSource(std::vector<std::unique_ptr<VolumePart>> parts)
    : m_Parts(std::move(parts))
  {
    for (const auto & part : m_Parts)
    {
      m_Channels += part->GetNumberOfChannels();
    }
  }

  gigapixel::Size
  GetSize() const override
  {
    return m_Parts.front()->GetGrid().size;
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Channels;
  }

  gigapixel::SampleType
  GetSampleType() const override
  {
    return gigapixel::SampleType::Float;
  }

  void
  Read(const gigapixel::Region & region, std::uint8_t * samples) override
  {
    auto * out = reinterpret_cast<float *>(samples);
    for (const auto & part : m_Parts)
    {
      part->Load();
      part->Read(region, out, m_Channels);
      out += part->GetNumberOfChannels();
    }
  }

private:
  const std::vector<std::unique_ptr<VolumePart>> m_Parts;
  unsigned                                       m_Channels{ 0 };
};

} // namespace

std::vector<std::string>
GigapixelListFiles(const std::string & fileOrFolder)
{
  return GigapixelIsDicomFolder(fileOrFolder) ? GigapixelDicomSeries::Find(fileOrFolder).files
                                              : std::vector<std::string>{ fileOrFolder };
}

std::string
GigapixelIdentifyVolume(const std::vector<std::string> & files, gigapixel::HashedBytes bytes)
{
  std::string identity;
  for (const std::string & name : files)
  {
    for (const std::string & file : GigapixelListFiles(name))
    {
      const auto * const format = gigapixel::FindVolumeFormat(file);
      identity += (identity.empty() ? "" : " ") + (format != nullptr && format->identify != nullptr
                                                     ? format->identify(file, bytes)
                                                     : gigapixel::IdentifyFile(file, bytes));
    }
  }
  return identity;
}

std::vector<std::string>
GigapixelSplitModalities(const std::string & name)
{
  std::error_code          error;
  std::vector<std::string> files;
  if (fs::exists(name, error) || name.find(',') == std::string::npos)
  {
    return { name };
  }
  for (std::size_t begin = 0; begin <= name.size();)
  {
    const std::size_t end = std::min(name.find(',', begin), name.size());
    files.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return files;
}

GigapixelVolume
GigapixelVolumeSource(const std::vector<std::string> & files)
{
  GigapixelVolume                          volume;
  std::vector<std::unique_ptr<VolumePart>> parts;
  for (const std::string & file : files)
  {
    parts.push_back(std::make_unique<VolumePart>(file));
    const VolumePart & part = *parts.back();
    volume.name += (volume.name.empty() ? "" : ",") + file;
    volume.readingBytes = std::max(volume.readingBytes, volume.heldBytes + part.GetReadingBytes());
    volume.heldBytes += part.GetHeldBytes();
    const auto & warnings = part.GetShape().warnings;
    volume.warnings.insert(volume.warnings.end(), warnings.begin(), warnings.end());
    const std::string difference =
      parts.size() > 1 ? parts.front()->GetGrid().DescribeDifference(part.GetGrid()) : std::string();
    if (!difference.empty())
    {
      throw gigapixel::Refusal(gigapixel::Diagnostic("E-VOLUME-GEOMETRY",
                                                     "it " + difference + " as " + files.front(),
                                                     "resample the modalities of a volume to one grid before")
                                 .OfFile(file));
    }
  }
  volume.grid = parts.front()->GetGrid();
  volume.sampleType = parts.front()->GetSampleType();
  volume.placedBy = parts.front()->GetShape().placedBy;
  volume.voxels = std::make_shared<VolumeSource>(std::move(parts));
  return volume;
}

} // namespace itk
