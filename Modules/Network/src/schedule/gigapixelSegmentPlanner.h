/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSegmentPlanner_h
#define gigapixelSegmentPlanner_h

#include "gigapixelSegment.h"

namespace gigapixel
{

/** Passes of training over a segment, in forward ones: the backward pass computes gradients of weights and of inputs,
 * after a forward pass that it does not share with what comes before: the writing of a map that is kept, or a loss that
 * is made of sums over the whole image.
 * \param ofOutput whether it is the last one, or the network at once */
double GetPasses(const NetworkDescription & network, bool ofOutput);

/** Operations per second of one core by the side of the greatest maps: larger ones fall out of the caches. */
GigapixelNetwork_EXPORT double GetRate(std::int64_t side, Precision precision);

/** Of maps that are kept, whose bytes GetKeptBytes() tells: in training of writing and reading them; else of writing
 * them, whose reading is counted tile by tile. */
double GetTrafficSeconds(std::int64_t keptBytes, bool training);

/** Of so many bytes of maps that tiles read. */
double GetReadSeconds(double bytes);

/** Segments that are the fastest whose tiles take no more than so many bytes each: a function of the network, the size
 * of the image, the bytes and the precision alone. They have to be worth a tenth of what the network at once takes. For
 * a training step the least seconds are sought over sets of up to four maps with few values, and tile sizes. For
 * inference, whose maps are kept only until they are read, any number of maps that convolutions read may be kept. Of a
 * network that labels images, the maps are those before the first reduction, and the reductions are segments, too. Of
 * another network that sees the whole image, the segments of MakeReducingSegments(), with the fastest tiles.
 * \param keepsMaps of such a network, whether the maps are kept that are read behind what they are reduced to
 * \return empty: the network at once */
GigapixelNetwork_EXPORT std::vector<SegmentPlan> ChooseSegments(const NetworkDescription & network,
                                                                Size                       image,
                                                                std::int64_t               bytes,
                                                                Precision                  precision,
                                                                Purpose                    purpose = Purpose::Training,
                                                                bool                       keepsMaps = true);

} // namespace gigapixel

#endif
