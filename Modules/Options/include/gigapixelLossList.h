/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The losses of networks that label pixels, a line for each: GIGAPIXEL_LOSS(Name, file, option, least, most) with the
// name in a network's file, that of --loss, and the number of output channels; most is 0 where any number is good.
// Get##Name##Loss() in a file of Modules/Network/src/losses/ has the formula.
// clang-format off
GIGAPIXEL_LOSS(BinaryCrossEntropy, "binary cross-entropy", "cross-entropy", 1, 1)
GIGAPIXEL_LOSS(SoftmaxCrossEntropy, "softmax cross-entropy", "cross-entropy", 2, 0)
GIGAPIXEL_LOSS(Dice, "dice", "dice", 1, 0)
GIGAPIXEL_LOSS(DiceAndCrossEntropy, "dice+cross-entropy", "dice+cross-entropy", 1, 0)
GIGAPIXEL_LOSS(Focal, "focal", "focal", 1, 0)
// clang-format on
#undef GIGAPIXEL_LOSS
