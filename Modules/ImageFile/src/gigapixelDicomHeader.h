/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelDicomHeader_h
#define gigapixelDicomHeader_h

#include <string>

namespace gigapixel
{

/** Walks all elements of a DICOM file (PS3.5 7, PS3.10 7) before a library does that: GDCM ends the program, by its
 * assertions or its stack, where a file ends within an element, nests sequences without end, or says of its pixels what
 * no image has, and of pixels that are missing it makes some up, and of a place that is none another.
 * \return whether the header says where the slice lies
 * \throw std::runtime_error one sentence that names the file and says what is wrong */
bool CheckDicomFile(const std::string & file);

} // namespace gigapixel

#endif
