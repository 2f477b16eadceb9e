/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The losses of networks that label pixels, a line for each: GIGAPIXEL_LOSS(Name, file, option, least, most) with the
// name in a network's file, that of --loss, and the number of output channels. Two kinds have nothing but a formula in
// Modules/Network/src/objective/losses/: GIGAPIXEL_PIXEL_LOSS one for a pixel, Get##Name##Loss(), and
// GIGAPIXEL_SUM_LOSS one for a class by sums over the image, Get##Name##Overlap().
// clang-format off
#ifndef GIGAPIXEL_LOSS
#  define GIGAPIXEL_LOSS(Name, file, option, least, most)
#endif
#ifndef GIGAPIXEL_PIXEL_LOSS
#  define GIGAPIXEL_PIXEL_LOSS GIGAPIXEL_LOSS
#endif
#ifndef GIGAPIXEL_SUM_LOSS
#  define GIGAPIXEL_SUM_LOSS GIGAPIXEL_LOSS
#endif
GIGAPIXEL_LOSS(BinaryCrossEntropy, "binary cross-entropy", "cross-entropy", 1, 1)
GIGAPIXEL_LOSS(SoftmaxCrossEntropy, "softmax cross-entropy", "cross-entropy", 2, 254)
GIGAPIXEL_SUM_LOSS(Dice, "dice", "dice", 1, 254)
GIGAPIXEL_SUM_LOSS(DiceAndCrossEntropy, "dice+cross-entropy", "dice+cross-entropy", 1, 254)
GIGAPIXEL_PIXEL_LOSS(Focal, "focal", "focal", 1, 254)
// clang-format on
#undef GIGAPIXEL_LOSS
#undef GIGAPIXEL_PIXEL_LOSS
#undef GIGAPIXEL_SUM_LOSS
