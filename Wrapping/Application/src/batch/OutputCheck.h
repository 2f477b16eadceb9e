/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OutputCheck_h
#define OutputCheck_h

#include "GigapixelApplicationExport.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace itk
{
class WholeSlideImageIO;
}

namespace gigapixel::application
{
class ArgumentValues;

/** What is the same for all names of a file, and for no other: what the file system calls one that is there, else its
 * place. */
GigapixelApplication_EXPORT std::string GetFileKey(const std::string & file);

/** Whether two names mean the same file, one that exists or one that is to be made. */
GigapixelApplication_EXPORT bool IsSameFile(const std::string & a, const std::string & b);

/** Endings of the names under which a content of the table (Argument::content) is written, the usual one first; empty:
 * any name will do. */
GigapixelApplication_EXPORT const std::vector<std::string> & GetEndings(const std::string & content);

/** Refuses a name that belies what is written: programs judge files by their endings.
 * \param argument for the message: "--output"
 * \param otherwise what would do as well, for the message
 * Lossy formats of masks are refused with their reason.
 * \throw UsageError */
GigapixelApplication_EXPORT void CheckEnding(const std::string & argument,
                                             const std::string & file,
                                             const std::string & content,
                                             const std::string & otherwise = {});

/** Refuses the file of an output's argument: a name that belies its content, and the file of an input, which the
 * command was given or is one of \a inputs, or of an output that stands before it in the table. \throw Refusal */
GigapixelApplication_EXPORT void CheckOutputName(const ArgumentValues &           values,
                                                 const std::string &              name,
                                                 const std::vector<std::string> & inputs = {});

/** The same of one that is written at once, with what RefuseExisting() and CheckOutput() refuse. */
GigapixelApplication_EXPORT void CheckOutputFile(const ArgumentValues &           values,
                                                 const std::string &              name,
                                                 const std::vector<std::string> & inputs = {});

/** Lets CheckOutput() make a folder that is not there, with those that it lies in: a run that is refused before it
 * writes anything leaves none. \throw std::runtime_error it cannot be made */
GigapixelApplication_EXPORT void MakeFolderWithFirstOutput(const std::string & folder);

/** Refuses, before any work, what cannot be written: a folder that is not there or cannot be written to, less free
 * space than a hundredth of the raw pixels (masks and slides compress by 10 to 500). \param rawBytes of the picture
 * before compression \throw std::runtime_error */
GigapixelApplication_EXPORT void CheckOutput(const std::string & file, double rawBytes);

/** Refuses an output that is an input's file, also under another name: --overwrite is said of results.
 * \throw std::runtime_error */
GigapixelApplication_EXPORT void RefuseInput(const std::string & output, const std::vector<std::string> & inputs);

/** As well, all outputs of a batch. */
GigapixelApplication_EXPORT void RefuseInputs(const std::vector<std::string> & outputs,
                                              const std::vector<std::string> & inputs);

/** \throw std::runtime_error if the file exists and must not be replaced */
GigapixelApplication_EXPORT void RefuseExisting(const std::string & file, bool overwrite);

/** How a pyramid says that it was made (PyramidTIFFImageIO::SetMadeBy); empty: it does not. */
std::string GetMadeBy(const itk::WholeSlideImageIO & pyramid);

/** As well, of a file; empty: it does not, or is no pyramid. */
GigapixelApplication_EXPORT std::string FindMadeBy(const std::string & pyramid);

/** Whether the wanted pyramid stands there, whole: it opens, has this size and number of channels, was made in this way
 * (PyramidTIFFImageIO::SetMadeBy), and its last pixels can be read. A file that is something else is an error: to keep
 * it would pass it off as the result, and to write would destroy it. With --strict, so is one that was made of damaged
 * tiles.
 * \throw std::runtime_error the file exists, but is not that */
GigapixelApplication_EXPORT bool HasValidPyramid(const std::string &                 file,
                                                 const std::array<std::int64_t, 2> & size,
                                                 unsigned                            channels,
                                                 const std::string &                 madeBy);

} // namespace gigapixel::application

#endif
