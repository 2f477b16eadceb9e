/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The optimizers, a line for each: GIGAPIXEL_OPTIMIZER(Name, name, weightDecay, description), where NameOptimizer is
// its rule in Modules/Network/src/training/optimizers/, the weight decay is the one by default, and the description
// follows "NAME is " in --help; empty: everybody knows.
// clang-format off
GIGAPIXEL_OPTIMIZER(Adam, "adam", 0, "")
GIGAPIXEL_OPTIMIZER(AdamW, "adamw", 0.01, "Adam with decoupled weight decay")
GIGAPIXEL_OPTIMIZER(SGD, "sgd", 0, "gradient descent with momentum")
GIGAPIXEL_OPTIMIZER(Lion, "lion", 0, "the sign of a momentum, for a tenth of adam's learning rate")
// clang-format on
#undef GIGAPIXEL_OPTIMIZER
