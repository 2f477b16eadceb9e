/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DicomSlice_h
#define DicomSlice_h

#include <cstdint>

/** \file What the program and its reader of DICOM say to each other through a socket.
 *
 * The reader says DicomProtocol first, so that programs of different versions do not talk past each other.
 * The program asks with a DicomRequest and the file's name behind it. The reader answers with a DicomAnswer, and behind
 * it what was asked for, a DicomSlice or the samples, or else why there is none. */
namespace gigapixel::application
{

constexpr std::uint32_t DicomProtocol = 1;

struct DicomRequest
{
  enum Kind : std::uint32_t
  {
    Header,
    Samples
  };
  Kind          kind;
  std::uint32_t nameBytes;
};

struct DicomAnswer
{
  std::uint64_t bytes; ///< of what comes behind it
  std::uint32_t isRefusal;
};

/** As itk::ImageIOBase has it. */
struct DicomSlice
{
  static constexpr unsigned Axes = 3;

  std::uint64_t size[Axes];
  double        spacing[Axes];
  double        origin[Axes];
  double        direction[Axes][Axes]; ///< of each axis
  std::int32_t  pixelType;
  std::int32_t  componentType;
  std::uint32_t components;
  char          series[65]; ///< its Series Instance UID, of which DICOM allows 64 characters
};

} // namespace gigapixel::application

#endif
