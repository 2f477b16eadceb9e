/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The losses of networks that label pixels, a line for each: GIGAPIXEL_LOSS(Name, file, option, least, most) with the
// name in a network's file, that of --loss, and the number of output channels. GIGAPIXEL_PIXEL_LOSS is one that has
// nothing but a formula for a pixel, Get##Name##Loss() in Modules/Network/src/objective/losses/.
// clang-format off
#ifndef GIGAPIXEL_LOSS
#  define GIGAPIXEL_LOSS(Name, file, option, least, most)
#endif
#ifndef GIGAPIXEL_PIXEL_LOSS
#  define GIGAPIXEL_PIXEL_LOSS GIGAPIXEL_LOSS
#endif
GIGAPIXEL_LOSS(BinaryCrossEntropy, "binary cross-entropy", "cross-entropy", 1, 1)
GIGAPIXEL_LOSS(SoftmaxCrossEntropy, "softmax cross-entropy", "cross-entropy", 2, 254)
GIGAPIXEL_LOSS(Dice, "dice", "dice", 1, 254)
GIGAPIXEL_LOSS(DiceAndCrossEntropy, "dice+cross-entropy", "dice+cross-entropy", 1, 254)
GIGAPIXEL_PIXEL_LOSS(Focal, "focal", "focal", 1, 254)
// clang-format on
#undef GIGAPIXEL_LOSS
#undef GIGAPIXEL_PIXEL_LOSS
