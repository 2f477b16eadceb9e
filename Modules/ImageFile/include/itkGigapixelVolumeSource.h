/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelVolumeSource_h
#define itkGigapixelVolumeSource_h

#include "GigapixelImageFileExport.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelVolumeGrid.h"
#include "itkGigapixelVolumeFormats.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{
enum class HashedBytes;
}

namespace itk
{

/** A volume of one file, or of several with a modality each. */
struct GigapixelVolume
{
  std::string                             name;              ///< of the files, as they were given, joined by commas
  std::shared_ptr<gigapixel::PixelSource> voxels;            ///< reads regions of all modalities, interleaved
  gigapixel::VolumeGrid                   grid;              ///< size, spacing, origin and axes
  std::string                             sampleType;        ///< of the first file, as ITK calls it: "short", "float"
  std::int64_t                            heldBytes{ 0 };    ///< that the voxels take from the first one read on
  std::int64_t                            readingBytes{ 0 }; ///< and at most while the files are read
  std::string                             placedBy;          ///< fields of the first file's header, for people
  std::vector<gigapixel::Diagnostic>      warnings;          ///< of what the headers say of the place
};

/** Whether it is a folder with DICOM files in it, which are no slides of a microscope. */
GigapixelImageFile_EXPORT bool GigapixelIsDicomFolder(const std::string & folder);

/** For programs that load the libraries of ITK's reader of DICOM only when there is a series to read: `load` makes the
 * reader known to itk::ImageIOFactory then. It is called for each series. */
GigapixelImageFile_EXPORT void GigapixelSetDicomLoader(const std::function<void()> & load);

/** The files that a volume's file or folder stands for, those of a DICOM series in the order of their slices.
 * \throw std::runtime_error as GigapixelVolumeSource() */
GigapixelImageFile_EXPORT std::vector<std::string> GigapixelListFiles(const std::string & fileOrFolder);

/** "flair.nii.gz,t1.nii.gz" as the files that it names; a name of a file that is there, or without a comma, as it is.
 */
GigapixelImageFile_EXPORT std::vector<std::string> GigapixelSplitModalities(const std::string & name);

/** Tells a volume from another one by what is in its files, as IdentifyFile() does.
 * \param files as of GigapixelVolumeSource()
 * \throw std::runtime_error one of them cannot be read */
GigapixelImageFile_EXPORT std::string GigapixelIdentifyVolume(const std::vector<std::string> & files,
                                                              gigapixel::HashedBytes           bytes);

/** A volume as the engine reads it, from as many threads as want to, through what itk::ImageIOFactory finds.
 *
 * Samples are floats that have the value which the file says, with its slope and intercept, whatever its type is: that
 * of bytes, too, so that a result does not depend on how a volume was stored. Channels are the files', one after the
 * other; those of one file are the components of its voxels, or its fourth axis. Voxels stay in memory in the file's
 * type (floats for integers of 32 and 64 bits, and doubles) from the first read on.
 *
 * \param files of the same grid, to a hundredth of a voxel; or folders of DICOM series, each a modality
 * \throw std::runtime_error one sentence that names the file; the first read throws it as well, for a file that is cut
 * short or damaged, has a voxel that is no finite number (of NIfTI these are 0), or is another
 * one than when its header was read */
GigapixelImageFile_EXPORT GigapixelVolume GigapixelVolumeSource(const std::vector<std::string> & files);

/** Before what takes long: refuses a grid that the format of the file's ending cannot say, as NIfTI those whose axes
 * are not perpendicular. \throw std::runtime_error one sentence that names the file */
GigapixelImageFile_EXPORT void GigapixelRequireLabelPlace(const std::string &           fileName,
                                                          const gigapixel::VolumeGrid & grid);

/** Writes a volume of labels through the ImageIO that the file's ending asks for, compressed where the format knows
 * that. It takes its name when it is complete, and is read again and compared before: writers do not say when a disk is
 * full. What is read takes the memory of the labels, whose hash is known by then.
 * \param labels a byte for each voxel, x fastest
 * \param mayReplace as AtomicFile has it
 * \param madeBy how they were made: up to 23 printable characters of ASCII, which all formats keep
 * \throw std::runtime_error one sentence that names the file; nothing is left of it then */
GigapixelImageFile_EXPORT void GigapixelWriteLabelVolume(const std::string &           fileName,
                                                         std::vector<std::uint8_t>     labels,
                                                         const gigapixel::VolumeGrid & grid,
                                                         bool                          mayReplace,
                                                         const std::string &           madeBy = {});

/** How the labels of a file were made, as GigapixelWriteLabelVolume() was told, or what another program noted there.
 * \throw std::runtime_error one sentence that names the file, which is no volume or damaged in its header */
GigapixelImageFile_EXPORT std::string GigapixelGetMadeBy(const std::string & fileName);

/** The labels of a file that GigapixelWriteLabelVolume() wrote, x fastest.
 * \throw std::runtime_error one sentence that names the file: it is damaged, of bytes no more, or not on this grid */
GigapixelImageFile_EXPORT std::vector<std::uint8_t> GigapixelReadLabelVolume(const std::string &           fileName,
                                                                             const gigapixel::VolumeGrid & grid);

} // namespace itk

#endif
