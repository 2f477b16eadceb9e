/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef VolumeSegmentation_h
#define VolumeSegmentation_h

#include "NetworkCommands.h"

#include "itkGigapixelVolumeSource.h"

#include <cstdint>

namespace gigapixel::application
{

/** What a volume and its labels take of memory beside the network. */
struct VolumeMemory
{
  Size         shown{};        ///< what the network sees in inference: the volume at the spacing of its model
  std::int64_t training{ 0 };  ///< a volume is read while the maps of the one before are there
  std::int64_t inference{ 0 }; ///< while there are maps
  std::int64_t alone{ 0 };     ///< of inference before and after: the file is read, and the labels are written
};

/** As segment, train and plan count it.
 * \param labels of training; without them bytes are counted */
VolumeMemory CountMemory(const itk::GigapixelVolume & volume,
                         const NetworkDescription &   network,
                         const itk::GigapixelVolume * labels = nullptr);

/** \throw std::runtime_error the volume has another number of channels than the network takes */
void RequireVolumeChannels(const itk::GigapixelVolume & volume, const NetworkDescription & network);

} // namespace gigapixel::application

#endif
