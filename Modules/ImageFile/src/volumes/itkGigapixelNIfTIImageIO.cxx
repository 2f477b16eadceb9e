/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelNIfTIImageIO.h"

#include "gigapixelGzipStream.h"
#include "gigapixelVolumeFormat.h"
#include "itkMetaDataObject.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

namespace itk
{
namespace
{

struct SampleKind
{
  IOComponentEnum type;
  std::size_t     bytes;
  unsigned        components{ 1 };
  IOPixelEnum     pixel{ IOPixelEnum::SCALAR };
};

/** The kind of samples behind a code of NIfTI. Kinds that are refused afterwards have a type that names them. */
SampleKind
GetKind(std::int16_t type)
{
  static const std::map<std::int16_t, SampleKind> kinds{
    { 2, { IOComponentEnum::UCHAR, 1 } },
    { 4, { IOComponentEnum::SHORT, 2 } },
    { 8, { IOComponentEnum::INT, 4 } },
    { 16, { IOComponentEnum::FLOAT, 4 } },
    { 32, { IOComponentEnum::FLOAT, 4, 2, IOPixelEnum::COMPLEX } },
    { 64, { IOComponentEnum::DOUBLE, 8 } },
    { 128, { IOComponentEnum::UCHAR, 1, 3, IOPixelEnum::RGB } },
    { 256, { IOComponentEnum::CHAR, 1 } },
    { 512, { IOComponentEnum::USHORT, 2 } },
    { 768, { IOComponentEnum::UINT, 4 } },
    { 1024, { IOComponentEnum::LONG, 8 } },
    { 1280, { IOComponentEnum::ULONG, 8 } },
    { 1536, { IOComponentEnum::LDOUBLE, 16 } },
    { 1792, { IOComponentEnum::DOUBLE, 8, 2, IOPixelEnum::COMPLEX } },
    { 2048, { IOComponentEnum::LDOUBLE, 16, 2, IOPixelEnum::COMPLEX } },
    { 2304, { IOComponentEnum::UCHAR, 1, 4, IOPixelEnum::RGBA } },
  };
  static_assert(sizeof(long) == 8, "integers of 64 bits are long");
  const auto found = kinds.find(type);
  return found == kinds.end() ? SampleKind{ IOComponentEnum::UNKNOWNCOMPONENTTYPE, 1 } : found->second;
}

bool
IsFloat(IOComponentEnum type)
{
  return type == IOComponentEnum::FLOAT || type == IOComponentEnum::DOUBLE;
}

template <typename T>
void
ZeroWhatIsNotFinite(unsigned char * bytes, std::size_t number)
{
  auto * const values = reinterpret_cast<T *>(bytes);
  std::replace_if(
    values, values + number, [](T value) { return !std::isfinite(value); }, T{ 0 });
}

template <typename TFrom, typename TTo>
void
Scale(const unsigned char * from, unsigned char * to, std::size_t number, double slope, double intercept)
{
  for (std::size_t i = 0; i < number; ++i)
  {
    TFrom value{};
    std::memcpy(&value, from + i * sizeof(TFrom), sizeof(TFrom));
    const auto scaled = static_cast<TTo>(static_cast<double>(value) * slope + intercept);
    std::memcpy(to + i * sizeof(TTo), &scaled, sizeof(TTo));
  }
}

using Scaler = void (*)(const unsigned char *, unsigned char *, std::size_t, double, double);

/** Integers become floats. */
Scaler
GetScaler(IOComponentEnum type)
{
  switch (type)
  {
    case IOComponentEnum::UCHAR:
      return Scale<unsigned char, float>;
    case IOComponentEnum::CHAR:
      return Scale<signed char, float>;
    case IOComponentEnum::USHORT:
      return Scale<unsigned short, float>;
    case IOComponentEnum::SHORT:
      return Scale<short, float>;
    case IOComponentEnum::UINT:
      return Scale<unsigned int, float>;
    case IOComponentEnum::INT:
      return Scale<int, float>;
    case IOComponentEnum::ULONG:
      return Scale<unsigned long, float>;
    case IOComponentEnum::LONG:
      return Scale<long, float>;
    case IOComponentEnum::DOUBLE:
      return Scale<double, double>;
    default:
      return Scale<float, float>;
  }
}

/** b, c and d of the rotation whose columns point along the axes, and the sign of the third axis: the quaternion has
 * none of reflections. Of a matrix that is rounded it is the nearest by its greatest component. */
std::array<double, 4>
GetQuaternion(std::array<std::array<double, 3>, 3> axes)
{
  const auto & [x, y, z] = axes;
  const double determinant =
    x[0] * (y[1] * z[2] - y[2] * z[1]) - x[1] * (y[0] * z[2] - y[2] * z[0]) + x[2] * (y[0] * z[1] - y[1] * z[0]);
  const double sign = determinant < 0 ? -1 : 1;
  for (double & coordinate : axes[2])
  {
    coordinate *= sign;
  }
  const auto r = [&axes](std::size_t row, std::size_t column) { return axes[column][row]; };
  // Four times the squares of a, b, c and d.
  const std::array<double, 4> squares{ 1 + r(0, 0) + r(1, 1) + r(2, 2),
                                       1 + r(0, 0) - r(1, 1) - r(2, 2),
                                       1 - r(0, 0) + r(1, 1) - r(2, 2),
                                       1 - r(0, 0) - r(1, 1) + r(2, 2) };
  const auto                  greatest = std::max_element(squares.begin(), squares.end()) - squares.begin();
  const double                root = 2 * std::sqrt(squares[static_cast<std::size_t>(greatest)]);
  const std::array<double, 4> own{ root / 4, root / 4, root / 4, root / 4 };
  std::array<double, 4>       q{};
  switch (greatest)
  {
    case 0:
      q = { own[0], (r(2, 1) - r(1, 2)) / root, (r(0, 2) - r(2, 0)) / root, (r(1, 0) - r(0, 1)) / root };
      break;
    case 1:
      q = { (r(2, 1) - r(1, 2)) / root, own[1], (r(0, 1) + r(1, 0)) / root, (r(0, 2) + r(2, 0)) / root };
      break;
    case 2:
      q = { (r(0, 2) - r(2, 0)) / root, (r(0, 1) + r(1, 0)) / root, own[2], (r(1, 2) + r(2, 1)) / root };
      break;
    default:
      q = { (r(1, 0) - r(0, 1)) / root, (r(0, 2) + r(2, 0)) / root, (r(1, 2) + r(2, 1)) / root, own[3] };
  }
  const double turn = q[0] < 0 ? -1 : 1; // the first one is not written, and is not below 0
  return { turn * q[1], turn * q[2], turn * q[3], sign };
}

/** Both places are that of the grid, in mm, to the right, front and head. */
gigapixel::NIfTIForms
MakeForms(const gigapixel::VolumeGrid & grid)
{
  constexpr std::array<double, 3>      turn{ -1, -1, 1 };
  gigapixel::NIfTIForms                forms;
  std::array<std::array<double, 3>, 3> axes{};
  forms.qformCode = 1;
  forms.sformCode = 1;
  forms.unit = 2;
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    forms.pixdim[axis + 1] = static_cast<float>(grid.spacing[axis]);
    for (std::size_t i = 0; i < 3; ++i)
    {
      axes[axis][i] = turn[i] * grid.axes[axis][i];
      forms.affine[4 * i + axis] = static_cast<float>(grid.spacing[axis] * axes[axis][i]);
    }
    forms.affine[4 * axis + 3] = static_cast<float>(turn[axis] * grid.origin[axis]);
    forms.quaternion[axis + 3] = forms.affine[4 * axis + 3];
  }
  const auto quaternion = GetQuaternion(axes);
  for (std::size_t i = 0; i < 3; ++i)
  {
    forms.quaternion[i] = static_cast<float>(quaternion[i]);
  }
  forms.pixdim[0] = static_cast<float>(quaternion[3]);
  return forms;
}

/** Makes the header of one file, in this machine's order of bytes. */
std::vector<unsigned char>
MakeHeader(const gigapixel::VolumeGrid & grid, const std::string & madeBy)
{
  constexpr std::size_t       length = 348, begin = 352;
  std::vector<unsigned char>  header(begin);
  const gigapixel::NIfTIForms forms = grid.forms ? *grid.forms : MakeForms(grid);
  const auto                  put = [&header](std::size_t place, auto value) {
    std::memcpy(header.data() + place, &value, sizeof(value));
  };
  put(0, static_cast<std::int32_t>(length));
  header[38] = 'r';
  const std::array<std::int64_t, 8> sizes{ 3, grid.size.width, grid.size.height, grid.size.depth, 1, 1, 1, 1 };
  for (std::size_t i = 0; i < sizes.size(); ++i)
  {
    put(40 + 2 * i, static_cast<std::int16_t>(sizes[i]));
    put(76 + 4 * i, i < forms.pixdim.size() ? forms.pixdim[i] : 1.0F);
  }
  put(70, std::int16_t{ 2 }); // bytes
  put(72, std::int16_t{ 8 });
  put(108, static_cast<float>(begin));
  put(112, 1.0F);
  header[123] = forms.unit;
  std::copy_n(madeBy.begin(), std::min<std::size_t>(madeBy.size(), 23), header.begin() + 228);
  put(252, forms.qformCode);
  put(254, forms.sformCode);
  std::memcpy(header.data() + 256, forms.quaternion.data(), sizeof(forms.quaternion));
  std::memcpy(header.data() + 280, forms.affine.data(), sizeof(forms.affine));
  std::memcpy(header.data() + 344, "n+1", 4);
  return header;
}

} // namespace

bool
GigapixelNIfTIImageIO::CanReadFile(const char * name)
{
  const auto said = gigapixel::FindNIfTIFiles(name).said;
  return said && said->isNIfTI;
}

void
GigapixelNIfTIImageIO::ReadImageInformation()
{
  m_Files = gigapixel::FindNIfTIFiles(this->GetFileName());
  const gigapixel::NIfTIHeader & header = *m_Files.said;
  std::vector<std::int64_t>      sizes(header.sizes.begin(), header.sizes.begin() + header.dimensions);
  while (sizes.size() > 3 && sizes.back() == 1)
  {
    sizes.pop_back();
  }
  if (sizes.size() == 5 && sizes[3] == 1) // the fifth axis is of the values of a voxel
  {
    sizes.erase(sizes.begin() + 3);
  }
  const SampleKind kind = GetKind(header.type);
  this->SetNumberOfDimensions(static_cast<unsigned>(sizes.size()));
  for (unsigned axis = 0; axis < sizes.size(); ++axis)
  {
    this->SetDimensions(axis, static_cast<SizeValueType>(sizes[axis]));
  }
  this->SetComponentType(header.IsScaled() && !IsFloat(kind.type) ? IOComponentEnum::FLOAT : kind.type);
  this->SetPixelType(kind.pixel);
  this->SetNumberOfComponents(kind.components);
  EncapsulateMetaData<std::string>(this->GetMetaDataDictionary(), gigapixel::VolumeMadeByKey, header.auxiliary);
}

void
GigapixelNIfTIImageIO::Read(void * samples)
{
  const gigapixel::NIfTIHeader & header = *m_Files.said;
  const SampleKind               kind = GetKind(header.type);
  const auto                     number = static_cast<std::size_t>(this->GetImageSizeInComponents());
  auto * const                   bytes = static_cast<unsigned char *>(samples);
  const gigapixel::GzipStream    stream = gigapixel::OpenGzip(m_Files.pixels, header.offset);
  constexpr std::size_t          piece = 1 << 16; // samples
  std::vector<unsigned char>     read(header.IsScaled() ? piece * kind.bytes : 0);
  for (std::size_t begin = 0, count = 0; begin < number; begin += count)
  {
    count = header.IsScaled() ? std::min(piece, number - begin) : number;
    unsigned char * const at = header.IsScaled() ? read.data() : bytes + begin * kind.bytes;
    gigapixel::ReadBytes(stream.get(), m_Files.pixels, at, count * kind.bytes);
    if (header.isSwapped)
    {
      gigapixel::SwapBytes(at, count, kind.bytes);
    }
    if (kind.type == IOComponentEnum::FLOAT)
    {
      ZeroWhatIsNotFinite<float>(at, count);
    }
    if (kind.type == IOComponentEnum::DOUBLE)
    {
      ZeroWhatIsNotFinite<double>(at, count);
    }
    if (header.IsScaled())
    {
      GetScaler(kind.type)(at,
                           bytes + begin * static_cast<std::size_t>(this->GetComponentSize()),
                           count,
                           static_cast<double>(header.slope),
                           static_cast<double>(header.intercept));
    }
  }
}

void
GigapixelWriteNIfTILabels(const std::string &               file,
                          const std::vector<std::uint8_t> & labels,
                          const gigapixel::VolumeGrid &     grid,
                          const std::string &               madeBy)
{
  gigapixel::WriteGzip(file, !gigapixel::FindEnding(file, { ".gz" }).empty(), MakeHeader(grid, madeBy), labels);
}

} // namespace itk
