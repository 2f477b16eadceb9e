/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef VolumeSegmentation_h
#define VolumeSegmentation_h

#include "NetworkCommands.h"

#include "gigapixelModel.h"
#include "itkGigapixelVolumeSource.h"

#include <memory>
#include <string>

namespace gigapixel::commandline
{

/** Whether the network is for volumes. */
bool TakesVolumes(const NetworkDescription & network);

/** \throw std::runtime_error a volume is given to what is for slides, or the other way around
 * \param what "the model mine.safetensors", for the message */
void RequireSameAxes(const std::string & name, const NetworkDescription & network, const std::string & what);

/** \throw std::runtime_error the volume has another number of channels than the network takes */
void RequireVolumeChannels(const itk::GigapixelVolume & volume, const NetworkDescription & network);

/** segment, with a model for volumes. */
int SegmentVolumes(const ArgumentValues & values, const Session & session, const std::shared_ptr<const Model> & model);

} // namespace gigapixel::commandline

#endif
