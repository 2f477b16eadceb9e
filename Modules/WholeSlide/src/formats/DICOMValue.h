/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DICOMValue_h
#define DICOMValue_h

#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel
{

/** \name Tags that a slide reader needs. @{ */
namespace DICOMTag
{
constexpr std::uint32_t TransferSyntax = 0x00020010;
constexpr std::uint32_t ImageType = 0x00080008;
constexpr std::uint32_t SOPClass = 0x00080016;
constexpr std::uint32_t SOPInstance = 0x00080018;
constexpr std::uint32_t SeriesInstance = 0x0020000e;
constexpr std::uint32_t FrameOfReference = 0x00200052;
constexpr std::uint32_t Concatenation = 0x00209161;
constexpr std::uint32_t ConcatenationNumber = 0x00209162;
constexpr std::uint32_t ConcatenationTotal = 0x00209163;
constexpr std::uint32_t ConcatenationFrameOffset = 0x00209228;
constexpr std::uint32_t DimensionOrganization = 0x00209311;
constexpr std::uint32_t SpacingBetweenSlices = 0x00180088;
constexpr std::uint32_t Samples = 0x00280002;
constexpr std::uint32_t Photometric = 0x00280004;
constexpr std::uint32_t PlanarConfiguration = 0x00280006;
constexpr std::uint32_t NumberOfFrames = 0x00280008;
constexpr std::uint32_t Rows = 0x00280010;
constexpr std::uint32_t Columns = 0x00280011;
constexpr std::uint32_t PixelSpacing = 0x00280030;
constexpr std::uint32_t BitsAllocated = 0x00280100;
constexpr std::uint32_t BitsStored = 0x00280101;
constexpr std::uint32_t PixelRepresentation = 0x00280103;
constexpr std::uint32_t ICCProfile = 0x00282000;
constexpr std::uint32_t PixelMeasures = 0x00289110;
constexpr std::uint32_t Container = 0x00400512;
constexpr std::uint32_t XOffset = 0x0040072a;
constexpr std::uint32_t YOffset = 0x0040073a;
constexpr std::uint32_t ZOffset = 0x0040074a;
constexpr std::uint32_t TotalColumns = 0x00480006;
constexpr std::uint32_t TotalRows = 0x00480007;
constexpr std::uint32_t OpticalPath = 0x00480105;
constexpr std::uint32_t OpticalPathIdentifier = 0x00480106;
constexpr std::uint32_t OpticalPathDescription = 0x00480107;
constexpr std::uint32_t ObjectivePower = 0x00480112;
constexpr std::uint32_t OpticalPathOfFrame = 0x00480207;
constexpr std::uint32_t PlanePosition = 0x0048021a;
constexpr std::uint32_t ColumnPosition = 0x0048021e;
constexpr std::uint32_t RowPosition = 0x0048021f;
constexpr std::uint32_t OpticalPaths = 0x00480302;
constexpr std::uint32_t FocalPlanes = 0x00480303;
constexpr std::uint32_t SharedGroups = 0x52009229;
constexpr std::uint32_t FrameGroups = 0x52009230;
constexpr std::uint32_t FrameOffsets = 0x7fe00001;
constexpr std::uint32_t FrameLengths = 0x7fe00002;
constexpr std::uint32_t PixelData = 0x7fe00010;
} // namespace DICOMTag
/** @} */

/** A value of a tag as it is stored, little endian, to be read as its value representation (VR) has it (PS3.5 6.2).
 * All functions throw std::runtime_error, in a few words, where it is not what it claims. */
struct DICOMValue
{
  std::uint32_t tag;
  std::string   representation;
  std::string   bytes;

  /** Without padding; several values are separated by backslashes. */
  std::string GetText() const;

  /** Numbers, be they stored so or as text; none where the value is empty. */
  std::vector<double> GetNumbers() const;

  /** The first number, which is whole and not negative; \a otherwise where there is none. */
  std::uint64_t GetInteger(std::uint64_t otherwise) const;
};

std::uint64_t GetLittleEndian(const char * bytes, std::size_t size);

/** The representation that the standard (PS3.6) gives to the tags that are read here, for files that leave it to that;
 * empty for others. */
std::string GetStandardRepresentation(std::uint32_t tag);

/** The stated one, or that of the standard where none is stated (empty or UN). Throws std::runtime_error, in a few
 * words, where values of the stated one are of another nature (text, numbers, bytes, sequences) than the standard's. */
std::string ResolveRepresentation(std::uint32_t tag, const std::string & stated);

/** Whether the length of a value of this representation is of 16 bit; that of all others, those of the future among
 * them, is of 32 bit (PS3.5 7.1.2). */
bool HasShortLength(const std::string & representation);

} // namespace gigapixel

#endif
