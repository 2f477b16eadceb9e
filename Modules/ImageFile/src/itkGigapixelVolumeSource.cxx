/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelVolumeSource.h"

#include "gigapixelPixelFiles.h"
#include "gigapixelPlainMessage.h"
#include "gigapixelWholeFile.h"
#include "itkGigapixelVolumeIO.h"
#include "itkImageIOFactory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>

namespace itk
{
namespace
{
namespace fs = std::filesystem;

constexpr unsigned Axes = 3;

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
    const ImageIOBase::Pointer io = OpenVolume(file);
    this->TakeShape(*io);
    this->RequireRoom();
  }

  const gigapixel::VolumeGrid &
  GetGrid() const
  {
    return m_Grid;
  }

  unsigned
  GetNumberOfChannels() const
  {
    return m_Components * m_Planes;
  }

  std::string
  GetSampleType() const
  {
    return ImageIOBase::GetComponentTypeAsString(m_Type);
  }

  std::int64_t
  GetHeldBytes() const
  {
    return this->CountSamples() * static_cast<std::int64_t>(IsKept(m_Type) ? GetBytes(m_Type) : sizeof(float));
  }

  /** Of ITK's reader, as many again. */
  std::int64_t
  GetReadingBytes() const
  {
    return this->CountSamples() * static_cast<std::int64_t>(2 * GetBytes(m_Type));
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
    gigapixel::RequireWholeCompression(m_File);
    const ImageIOBase::Pointer io = OpenVolume(m_File);
    std::vector<unsigned char> samples(static_cast<std::size_t>(this->CountSamples()) * GetBytes(m_Type));
    ReadWholeVolume(*io, samples.data());
    if (!IsKept(m_Type))
    {
      samples = this->ConvertToFloats(samples);
      m_Type = IOComponentEnum::FLOAT;
    }
    this->RequireNumbers(samples);
    m_Samples = std::move(samples);
  }

  /** \param samples of the region's first voxel, in which channels follow each other \param step samples of a voxel */
  void
  Read(const gigapixel::Region & region, float * samples, std::size_t step) const
  {
    WithType(m_Type, [&](auto type) {
      const auto * const all = reinterpret_cast<const decltype(type) *>(m_Samples.data());
      for (unsigned channel = 0; channel < this->GetNumberOfChannels(); ++channel)
      {
        float * out = samples + channel;
        for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
        {
          for (std::int64_t y = region.y; y < region.y + region.height; ++y)
          {
            const std::int64_t plane = channel / m_Components;
            const std::int64_t row = (plane * m_Grid.size.depth + z) * m_Grid.size.height + y;
            const auto *       in = all + (row * m_Grid.size.width + region.x) * m_Components + channel % m_Components;
            for (std::int64_t x = 0; x < region.width; ++x, in += m_Components, out += step)
            {
              *out = static_cast<float>(*in);
            }
          }
        }
      }
    });
  }

private:
  /** Axes, channels, type, and the place in the patient. */
  void
  TakeShape(const ImageIOBase & io)
  {
    const unsigned dimensions = io.GetNumberOfDimensions();
    if (dimensions < Axes)
    {
      throw std::runtime_error(m_File + ": it has " + std::to_string(dimensions) +
                               " axes, and a volume has three: name a volume");
    }
    for (unsigned d = 0; d < dimensions; ++d)
    {
      if (io.GetDimensions(d) == 0 || (d > Axes && io.GetDimensions(d) > 1))
      {
        throw std::runtime_error(m_File + ": its axis " + std::to_string(d + 1) + " has " +
                                 std::to_string(io.GetDimensions(d)) +
                                 " values; a volume has three axes, and a fourth one where it has channels");
      }
    }
    m_Components = io.GetNumberOfComponents();
    m_Planes = dimensions > Axes ? static_cast<unsigned>(io.GetDimensions(Axes)) : 1;
    m_Type = io.GetComponentType();
    if (m_Components > 1 && m_Planes > 1)
    {
      throw std::runtime_error(m_File + ": its voxels have " + std::to_string(m_Components) +
                               " components, and it has a fourth axis besides: store channels in one way");
    }
    if (io.GetPixelType() == IOPixelEnum::COMPLEX || m_Type == IOComponentEnum::UNKNOWNCOMPONENTTYPE ||
        m_Type == IOComponentEnum::LDOUBLE)
    {
      throw std::runtime_error(m_File + ": its voxels are of " + ImageIOBase::GetComponentTypeAsString(m_Type) +
                               (io.GetPixelType() == IOPixelEnum::COMPLEX ? " and complex" : "") +
                               ": convert them to float");
    }
    m_Grid.size = { static_cast<std::int64_t>(io.GetDimensions(0)),
                    static_cast<std::int64_t>(io.GetDimensions(1)),
                    static_cast<std::int64_t>(io.GetDimensions(2)) };
    for (unsigned axis = 0; axis < Axes; ++axis)
    {
      m_Grid.spacing[axis] = io.GetSpacing(axis);
      m_Grid.origin[axis] = io.GetOrigin(axis);
      const std::vector<double> direction = io.GetDirection(axis);
      std::copy_n(direction.begin(), Axes, m_Grid.axes[axis].begin());
      if (!(m_Grid.spacing[axis] > 0 && std::isfinite(m_Grid.spacing[axis]) && std::isfinite(m_Grid.origin[axis])))
      {
        throw std::runtime_error(m_File + ": its header gives axis " + std::to_string(axis + 1) + " a spacing of " +
                                 std::to_string(m_Grid.spacing[axis]) + " mm and an origin of " +
                                 std::to_string(m_Grid.origin[axis]) + " mm: mend the header");
      }
    }
  }

  /** What a header says costs memory: no compression makes a thousandth of what it is given. */
  void
  RequireRoom() const
  {
    constexpr double BestCompression = 1100;
    std::error_code  error;
    double           bytes = static_cast<double>(fs::file_size(m_File, error));
    if (const auto header = gigapixel::ReadPixelHeader(m_File))
    {
      for (const fs::path & file : header->files)
      {
        bytes += static_cast<double>(fs::file_size(file, error));
      }
    }
    const fs::path    path(m_File);
    const std::string ending = path.extension().string();
    if (ending == ".hdr" || ending == ".img") // the one of the two that the other one belongs to
    {
      bytes = HUGE_VAL;
    }
    const double wanted = static_cast<double>(m_Grid.size.width) * static_cast<double>(m_Grid.size.height) *
                          static_cast<double>(m_Grid.size.depth) * m_Components * m_Planes *
                          static_cast<double>(GetBytes(m_Type));
    if (wanted > BestCompression * bytes)
    {
      throw std::runtime_error(m_File + " is cut short or damaged: its header promises " +
                               std::to_string(m_Grid.size.width) + " x " + std::to_string(m_Grid.size.height) + " x " +
                               std::to_string(m_Grid.size.depth) +
                               " voxels, far more than the file can hold; get it again from where it came");
    }
  }

  std::int64_t
  CountSamples() const
  {
    return m_Grid.size.width * m_Grid.size.height * m_Grid.size.depth * this->GetNumberOfChannels();
  }

  std::vector<unsigned char>
  ConvertToFloats(const std::vector<unsigned char> & samples) const
  {
    std::vector<unsigned char> floats(static_cast<std::size_t>(this->CountSamples()) * sizeof(float));
    WithType(m_Type, [&](auto type) {
      const auto * const in = reinterpret_cast<const decltype(type) *>(samples.data());
      std::transform(in, in + this->CountSamples(), reinterpret_cast<float *>(floats.data()), [](auto sample) {
        return static_cast<float>(sample);
      });
    });
    return floats;
  }

  void
  RequireNumbers(const std::vector<unsigned char> & samples) const
  {
    if (m_Type != IOComponentEnum::FLOAT)
    {
      return;
    }
    const auto * const first = reinterpret_cast<const float *>(samples.data());
    const auto * const end = first + this->CountSamples();
    const auto * const bad = std::find_if_not(first, end, [](float value) { return std::isfinite(value); });
    if (bad != end)
    {
      const std::int64_t voxel = (bad - first) / m_Components;
      const auto &       size = m_Grid.size;
      throw std::runtime_error(m_File + ": its voxel " + std::to_string(voxel % size.width) + ", " +
                               std::to_string(voxel / size.width % size.height) + ", " +
                               std::to_string(voxel / size.width / size.height % size.depth) +
                               " is no finite number (NaN or infinite): replace such values, by 0 for instance");
    }
  }

  std::string                m_File;
  gigapixel::VolumeGrid      m_Grid;
  unsigned                   m_Components{ 1 }; ///< of a voxel, one behind the other
  unsigned                   m_Planes{ 1 };     ///< along the fourth axis
  IOComponentEnum            m_Type{ IOComponentEnum::FLOAT };
  std::mutex                 m_Mutex;
  std::vector<unsigned char> m_Samples;
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

bool
GigapixelIsVolumeName(const std::string & fileName)
{
  static const std::array<const char *, 8> endings{
    ".nii", ".nii.gz", ".hdr", ".img", ".nrrd", ".nhdr", ".mha", ".mhd"
  };
  const std::string name = fs::path(fileName).filename().string();
  return std::any_of(endings.begin(), endings.end(), [&name](const std::string & ending) {
    return name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
  });
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
    const std::string difference = parts.front()->GetGrid().DescribeDifference(part.GetGrid());
    if (!difference.empty())
    {
      throw std::runtime_error(file + ' ' + difference + " as " + files.front() +
                               ": modalities of a volume are to be resampled to one grid before");
    }
  }
  volume.grid = parts.front()->GetGrid();
  volume.sampleType = parts.front()->GetSampleType();
  volume.voxels = std::make_shared<VolumeSource>(std::move(parts));
  return volume;
}

} // namespace itk
