/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSegmentationPreset_h
#define gigapixelSegmentationPreset_h

#include "graph/gigapixelGraphBuilder.h"
#include "gigapixelNetworkPresets.h"

namespace gigapixel
{

// What presets that label pixels or voxels have in common, some of it with those that label images.

PresetOption GetClassesOption();

/** Of images. */
PresetOption GetChannelsOption();

/** Of volumes. */
PresetOption GetModalitiesOption();

/** \param kernel of the convolutions with norms: "3x3" */
PresetOption GetNormOption(const std::string & kernel);

/** The normalization of slides, whose values are then read as they are stored. */
PresetOption GetNormalizationOption();

/** The option's normalization. The network has its standardization or inversion until then: the former is kept where
 * values become 0 to 1, as those of 8 bit do. */
void TakeNormalization(const PresetValues & values, NetworkDescription & network);

/** As many as the classes need: one for two. */
int GetOutputChannels(const PresetValues & values);

/** \param norm a word of the option of this name, but for "none"; groups are eight, or fewer where the channels are no
 * multiple */
GraphBuilder::Name Normalize(GraphBuilder &             builder,
                             const GraphBuilder::Name & name,
                             const GraphBuilder::Name & map,
                             int                        channels,
                             const std::string &        norm);

/** With cross-entropy, by as many classes as there are. */
NetworkDescription Describe(const NetworkGraph & graph);

/** Of volumes, whose values become these. */
NetworkDescription Describe(const NetworkGraph & graph, const Normalization & normalization);

} // namespace gigapixel

#endif
