/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelVolumeFormat_h
#define gigapixelVolumeFormat_h

#include "gigapixelFileIdentity.h"
#include "gigapixelVolumePlace.h"
#include "itkImageIOBase.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel
{

/** A format of volumes, with all that is particular to it: an entry in a source file of its own, and a line in the list
 * of gigapixelVolumeFormat.cxx. Errors name the file. Functions get the name of a file that is of the format, but where
 * another thing is said; what an entry leaves empty is as for any image of ITK's. */
struct VolumeFormat
{
  std::string              name;    ///< for people: "NIfTI"
  std::vector<std::string> endings; ///< of the names of its files, ".nii.gz" before ".gz"
  std::vector<std::string> outputs; ///< those of which labels can be written, the usual one first
  /** Endings of headers whose pixels may be in a file beside them, and of that file: x.hdr and x.img. */
  std::vector<std::string> headers{};
  std::vector<std::string> pixels{};
  bool                     hasPictures{ false }; ///< whether its files may have two axes
  /** Whether its reader fills up what a damaged file lacks, so that its pixels are checked before each reading. */
  bool isFilledUp{ false };

  /** Whether any file is of this format, by its content as far as that tells. */
  bool (*isOf)(const std::string & file){ nullptr };

  /** Refuses a header at which its reader would fail in no good way, and files that are shorter than it says. */
  void (*checkHeader)(const std::string & file){ nullptr };

  /** Refuses pixels that do not decompress to their end. */
  void (*checkPixels)(const std::string & file){ nullptr };

  /** Where the volume lies. \param place with the size, and the rest as the reader has it */
  void (*readPlace)(const std::string & file, VolumePlace & place){ nullptr };

  /** The file and those in which its header and its pixels are, each once. */
  std::vector<std::string> (*listFiles)(const std::string & file){ nullptr };

  /** Text that tells it from another one, as IdentifyFile() does, which identifies those that leave this empty. */
  std::string (*identify)(const std::string & file, HashedBytes bytes){ nullptr };

  /** A reader that takes no memory but that of what is read; null where ITK's is to read the file. */
  itk::ImageIOBase::Pointer (*makeReader)(const std::string & file){ nullptr };

  /** Whether ITK's reader reads parts of the pixels rightly. */
  bool (*hasParts)(const std::string & file){ nullptr };

  /** The complaint of ITK's reader in words that tell what is wrong and what to do; empty where it is not one of its
   * own. */
  std::string (*explain)(const std::string & reason){ nullptr };

  /** Refuses, before what takes long, volumes that cannot be written. \param fileName of a file that is not there yet
   */
  void (*checkOutput)(const std::string & fileName, const VolumeGrid & grid){ nullptr };

  /** Writes labels, compressed where the name says so. \param madeBy up to 23 characters, which the reader gives back
   * in its dictionary by VolumeMadeByKey */
  void (*write)(const std::string &               fileName,
                const std::vector<std::uint8_t> & labels,
                const VolumeGrid &                grid,
                const std::string &               madeBy){ nullptr };
};

/** NIfTI's name of it. */
constexpr const char * VolumeMadeByKey = "aux_file";

/** \return all of them, in the order in which people know them */
const std::vector<const VolumeFormat *> & GetVolumeFormats();

/** \return the one that the file is of; null: it is of another kind. \throw Refusal it is of a version that nothing
 * here reads */
const VolumeFormat * FindVolumeFormat(const std::string & file);

/** \return the one whose ending the name has; null: it has none of them */
const VolumeFormat * FindVolumeFormatByName(const std::string & fileName);

/** \return the longest ending of a format that the name has, and is more than; empty: none */
std::string FindEnding(const std::string & fileName, const std::vector<std::string> & endings);

} // namespace gigapixel

#endif
