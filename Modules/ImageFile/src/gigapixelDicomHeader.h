/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelDicomHeader_h
#define gigapixelDicomHeader_h

#include <string>
#include <vector>

namespace gigapixel
{

/** Where a slice lies, in mm to the left, back and head, as its header says it; empty: the header does not say it. */
struct DicomPlace
{
  std::vector<double> position;    ///< of the first pixel's center: 3 numbers
  std::vector<double> orientation; ///< two directions: along a row, and along a column
  std::vector<double> spacing;     ///< of rows, and of columns
  std::vector<double> step;        ///< to the next slice: 1 number above 0
  std::string         instance;    ///< the name that no other slice has
};

/** Walks all elements of a DICOM file (PS3.5 7, PS3.10 7) before a library does that: GDCM ends the program, by its
 * assertions or its stack, where a file ends within an element, nests sequences without end, or says of its pixels what
 * no image has, and of pixels that are missing it makes some up, and of a place that is none another.
 * \return where the slice lies: GDCM reads that of some kinds of images only
 * \throw std::runtime_error one sentence that names the file and says what is wrong */
DicomPlace CheckDicomFile(const std::string & file);

} // namespace gigapixel

#endif
