/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNIfTIHeader.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <set>
#include <zlib.h>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

constexpr std::size_t Length = 348;

/** The bytes of a header, in the order of the machine that wrote it. */
class HeaderBytes
{
public:
  /** \return whether the file has so many */
  bool
  Read(const std::string & file)
  {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> stream(gzopen(file.c_str(), "rb"), gzclose);
    return stream && gzread(stream.get(), m_Bytes.data(), Length) == static_cast<int>(Length);
  }

  /** As niftilib finds it out: the number of axes tells the order, and, where it is 0, the length of the header. */
  bool
  FindOrder()
  {
    for (const bool isSwapped : { false, true })
    {
      m_IsSwapped = isSwapped;
      const auto dimensions = this->Get<std::int16_t>(40);
      if (dimensions > 0 && dimensions <= 7)
      {
        return true;
      }
    }
    for (const bool isSwapped : { false, true })
    {
      m_IsSwapped = isSwapped;
      if (this->HasLength(Length))
      {
        return true;
      }
    }
    return false;
  }

  bool
  HasLength(std::size_t length) const
  {
    return this->Get<std::int32_t>(0) == static_cast<std::int32_t>(length);
  }

  /** "n+1" and its kin, as niftilib takes them. */
  bool
  HasMagic(std::size_t place, char version) const
  {
    const unsigned char * const magic = m_Bytes.data() + place;
    return magic[0] == 'n' && (magic[1] == '+' || magic[1] == 'i') && magic[2] == static_cast<unsigned char>(version) &&
           magic[3] == 0;
  }

  template <typename T>
  T
  Get(std::size_t place) const
  {
    std::array<unsigned char, sizeof(T)> bytes{};
    std::copy_n(m_Bytes.begin() + place, sizeof(T), bytes.begin());
    if (m_IsSwapped)
    {
      std::reverse(bytes.begin(), bytes.end());
    }
    T value{};
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  template <std::size_t Number>
  std::array<float, Number>
  GetFloats(std::size_t place) const
  {
    std::array<float, Number> floats{};
    for (std::size_t i = 0; i < Number; ++i)
    {
      floats[i] = this->Get<float>(place + i * sizeof(float));
    }
    return floats;
  }

  bool
  IsSwapped() const
  {
    return m_IsSwapped;
  }

  std::string
  GetText(std::size_t place, std::size_t most) const
  {
    const auto begin = m_Bytes.begin() + static_cast<std::ptrdiff_t>(place);
    return { begin, std::find(begin, begin + static_cast<std::ptrdiff_t>(most), '\0') };
  }

  unsigned char
  operator[](std::size_t place) const
  {
    return m_Bytes[place];
  }

private:
  std::array<unsigned char, Length> m_Bytes{};
  bool                              m_IsSwapped{ false };
};

/** What does not count may be anything. */
NIfTIForms
ReadForms(const HeaderBytes & bytes, int dimensions)
{
  NIfTIForms forms;
  const auto pixdim = bytes.GetFloats<4>(76);
  std::copy_n(pixdim.begin(), std::clamp(dimensions + 1, 1, 4), forms.pixdim.begin());
  forms.unit = bytes[123] & 7U; // the bits above are of time
  forms.qformCode = bytes.Get<std::int16_t>(252);
  forms.sformCode = bytes.Get<std::int16_t>(254);
  if (forms.qformCode > 0)
  {
    forms.quaternion = bytes.GetFloats<6>(256);
  }
  if (forms.sformCode > 0)
  {
    forms.affine = bytes.GetFloats<12>(280);
  }
  return forms;
}

[[noreturn]] void
Refuse(const std::string & file, const char * code, const std::string & reason, const std::string & remedy)
{
  throw Refusal(Diagnostic(code, reason, remedy).OfFile(file));
}

/** Lengths that no scanner and no microscope have, in whatever unit. */
template <std::size_t Number>
void
CheckPlace(const std::string & file, const std::array<float, Number> & values, const std::string & what)
{
  constexpr float Largest = 1e9F;
  for (const float value : values)
  {
    if (!(std::abs(value) <= Largest))
    {
      Refuse(file,
             "E-VOLUME-GEOMETRY",
             "its NIfTI header gives " + what + " the value " + std::to_string(value),
             "mend the header");
    }
  }
}

/** The standard knows no scale of colors. */
void
CheckScale(const std::string & file, const NIfTIHeader & header)
{
  static const std::set<std::int16_t> colors{ 128, 2304 };
  if (!header.IsScaled())
  {
    return;
  }
  if (colors.count(header.type) > 0)
  {
    Refuse(file,
           "E-VOLUME-FORMAT",
           "its voxels are colors and are to be scaled (scl_slope " + std::to_string(header.slope) + ", scl_inter " +
             std::to_string(header.intercept) + "), which is not read",
           "store the scaled values as floats, or the channels along the fourth axis");
  }
  if (!std::isfinite(header.intercept))
  {
    Refuse(file,
           "E-VOLUME-FORMAT",
           "its values are to be multiplied by " + std::to_string(header.slope) +
             " (scl_slope), and what is to be added (scl_inter) is no finite number",
           "mend the header");
  }
}

/** Of a file that may be compressed; nothing where it does not begin as such headers do. */
std::optional<NIfTIHeader>
ReadNIfTIHeader(const std::string & file)
{
  HeaderBytes bytes;
  if (!bytes.Read(file))
  {
    return std::nullopt;
  }
  if (bytes.HasMagic(4, '2'))
  {
    Refuse(file, "E-VOLUME-FORMAT", "it is of NIfTI-2, which is not read", "convert it to NIfTI-1");
  }
  NIfTIHeader header;
  header.isNIfTI = bytes.HasMagic(344, '1');
  const bool hasOrder = bytes.FindOrder();
  if (!header.isNIfTI && !(hasOrder && bytes.HasLength(Length)))
  {
    return std::nullopt;
  }
  header.hasPixels = header.isNIfTI && bytes[345] == '+';
  header.isSwapped = bytes.IsSwapped();
  header.dimensions = bytes.Get<std::int16_t>(40);
  header.columns = bytes.Get<std::int16_t>(42);
  header.type = bytes.Get<std::int16_t>(70);
  header.slope = bytes.Get<float>(112);
  header.intercept = bytes.Get<float>(116);
  if (header.isNIfTI)
  {
    header.forms = ReadForms(bytes, header.dimensions);
    header.auxiliary = bytes.GetText(228, 24);
  }
  std::uintmax_t samples = 1;
  for (std::size_t d = 0; d < header.sizes.size() && static_cast<int>(d) < header.dimensions; ++d)
  {
    header.sizes[d] = std::max<std::int64_t>(bytes.Get<std::int16_t>(42 + 2 * d), 1);
    samples *= static_cast<std::uintmax_t>(header.sizes[d]);
  }
  header.pixelBytes = samples * static_cast<std::uintmax_t>(std::max<int>(bytes.Get<std::int16_t>(72), 0)) / 8;
  const auto     offset = bytes.Get<float>(108);
  constexpr auto least = static_cast<float>(Length);
  header.offset = offset >= (header.hasPixels ? least : 0) && offset < 1e9F ? static_cast<std::uintmax_t>(offset)
                  : header.hasPixels                                        ? Length
                                                                            : 0;
  return header;
}

/** The first one that is there of the name with these endings; else an empty name. */
std::string
FindBeside(const fs::path & stem, std::initializer_list<const char *> endings)
{
  for (const char * const ending : endings)
  {
    std::error_code error;
    std::string     name = stem.string() + ending;
    if (fs::is_regular_file(name, error))
    {
      return name;
    }
  }
  return {};
}

} // namespace

bool
NIfTIHeader::IsScaled() const
{
  const bool hasSlope = isNIfTI && std::isfinite(slope) && slope != 0;
  return hasSlope && (slope != 1 || intercept != 0);
}

void
CheckNIfTIHeader(const std::string & file, const NIfTIHeader & header)
{
  static const std::set<std::int16_t> types{
    2, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024, 1280, 1536, 1792, 2048, 2304
  };
  if (header.dimensions < 1 || header.dimensions > 7 || header.columns < 1 || types.count(header.type) == 0)
  {
    Refuse(file,
           "E-FILE-DAMAGED",
           "it is cut short or damaged: its NIfTI header has " + std::to_string(header.dimensions) +
             " axes, the first with " + FormatCount(header.columns, "voxel") + ", of type " +
             std::to_string(header.type),
           "get it again from where it came");
  }
  CheckPlace(file, header.forms.pixdim, "the spacing (pixdim)");
  CheckPlace(file, header.forms.quaternion, "the rotation or the origin (quatern, qoffset)");
  CheckPlace(file, header.forms.affine, "the matrix (srow)");
  CheckScale(file, header);
}

NIfTIFiles
FindNIfTIFiles(const std::string & file)
{
  fs::path stem(file);
  if (stem.extension() == ".gz")
  {
    stem.replace_extension();
  }
  const std::string ending = stem.extension().string();
  stem.replace_extension();
  NIfTIFiles files{ file, file, {} };
  if (ending == ".img")
  {
    files.header = FindBeside(stem, { ".hdr", ".hdr.gz", ".nii", ".nii.gz" });
  }
  files.said = ReadNIfTIHeader(files.header);
  if (files.said)
  {
    files.pixels = files.said->hasPixels ? files.header
                   : ending == ".img"    ? file
                   : ending == ".hdr"    ? FindBeside(stem, { ".img", ".img.gz" })
                                         : std::string();
  }
  return files;
}

} // namespace gigapixel
