/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelResNet_h
#define gigapixelResNet_h

#include "graph/gigapixelGraphBuilder.h"
#include "gigapixelNetworkDescription.h"

namespace gigapixel
{

/** The convolutions of a ResNet (He et al., CVPR 2016; of 50 in version 1.5), under torchvision's names.
 * \param depth 18, 34 or 50 \param width channels of the first maps, 64 of the published ones
 * \param fixup in place of norms numbers that are added before and behind convolutions, and a factor that ends each
 * residual branch (Zhang, Dauphin, Ma, Fixup initialization, ICLR 2019), under the names of that paper's code;
 * MakeInitialWeights() knows such branches
 * \return the maps at 1/2, 1/4, 1/8, 1/16 and 1/32 of the image */
std::vector<GraphBuilder::Name> BuildResNet(GraphBuilder &             builder,
                                            int                        depth,
                                            int                        width,
                                            const GraphBuilder::Name & image,
                                            bool                       fixup = false);

/** That of ImageNet's training pictures, by which torchvision's weights were trained; of other channels than red, green
 * and blue, the mean of these three. */
void TakeImageNetStandardization(NetworkDescription & network);

} // namespace gigapixel

#endif
