/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideFile_h
#define SlideFile_h

#include "gigapixelArgumentValues.h"
#include "gigapixelSession.h"

#include "gigapixelGrid.h"
#include "gigapixelSlideContent.h"
#include "gigapixelSlidePixels.h"
#include "itkWholeSlideImageIO.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace gigapixel::application
{

/** What becomes of channels. */
enum class ChannelUse
{
  AsTheyAre, ///< samples as they are stored, or of 8 bit where a window is given
  Picture    ///< gray or RGB of 8 bit, where a window is given or needed
};

/** Opens a slide with the content that the options of slides say, as far as the command has them; its information is
 * read. A file that says another resolution than the user states (--slide-mpp) is refused.
 * \throw std::runtime_error, itk::ExceptionObject one sentence that names the file */
GigapixelApplication_EXPORT itk::WholeSlideImageIO::Pointer OpenSlide(const std::string &    file,
                                                                      const ArgumentValues & values,
                                                                      const Session &        session,
                                                                      ChannelUse use = ChannelUse::AsTheyAre);

/** As above, of other content than the options say. */
GigapixelApplication_EXPORT itk::WholeSlideImageIO::Pointer OpenSlide(const std::string &  file,
                                                                      const SlideContent & content,
                                                                      const Session &      session,
                                                                      ChannelUse           use = ChannelUse::AsTheyAre);

/** As OpenSlide(), of what is not gray or RGB of 8 bit a picture of its channels.
 * \throw std::runtime_error, itk::ExceptionObject one sentence that names the file */
GigapixelApplication_EXPORT itk::WholeSlideImageIO::Pointer OpenPicture(const std::string &    file,
                                                                        const ArgumentValues & values,
                                                                        const Session &        session);

/** Reads the slide's information again, for the level of --level, or resampled to the resolution of --mpp, where one of
 * them is given. \throw std::runtime_error, itk::ExceptionObject one sentence that names the file and the option */
GigapixelApplication_EXPORT void SelectPixels(itk::WholeSlideImageIO & slide, const ArgumentValues & values);

/** Which channels were read, and with which windows, where they were chosen. */
GigapixelApplication_EXPORT void AddChannels(nlohmann::ordered_json & json, const itk::WholeSlideImageIO & slide);

/** Where the pixels of the slide's finest level lie. */
GigapixelApplication_EXPORT Grid GetLevelZeroGrid(const itk::WholeSlideImageIO & slide);

/** How many damaged tiles a pyramid of ours was made of, as it says; 0 for others. */
GigapixelApplication_EXPORT std::int64_t GetRecordedDamage(const itk::WholeSlideImageIO & pyramid);

/** As above, of a file. */
GigapixelApplication_EXPORT std::int64_t GetRecordedDamage(const std::string & pyramid);

/** Whether a pyramid of ours says how many damaged tiles it was made of, be it none: somebody has looked. */
GigapixelApplication_EXPORT bool HasRecordedDamage(const itk::WholeSlideImageIO & pyramid);

/** Decodes the tiles of all levels. \return an error for each that cannot be decoded or, of a strict slide, is
 * damaged */
GigapixelApplication_EXPORT std::vector<Diagnostic> FindUndecodableTiles(itk::WholeSlideImageIO & slide,
                                                                         const Session &          session);

/** ", 3 damaged tiles"; empty for 0. */
GigapixelApplication_EXPORT std::string FormatDamage(std::int64_t count);

/** \throw std::runtime_error naming the file, if it is not there or is a folder */
GigapixelApplication_EXPORT void CheckInputFile(const std::string & file);

} // namespace gigapixel::application

#endif
