/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The kinds of truth of whole images, a line for each: Get##Name##Kind() in a file of Modules/Objective/src says how it
// is learnt, and Report##Name() in Wrapping/Application/src/evaluate what is told of predictions.
// clang-format off
GIGAPIXEL_OBJECTIVE_KIND(Classes)
GIGAPIXEL_OBJECTIVE_KIND(Findings)
GIGAPIXEL_OBJECTIVE_KIND(Grades)
GIGAPIXEL_OBJECTIVE_KIND(Values)
GIGAPIXEL_OBJECTIVE_KIND(Survival)
// clang-format on
#undef GIGAPIXEL_OBJECTIVE_KIND
