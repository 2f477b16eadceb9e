/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelProgram.h"

int
main(int argc, char ** argv)
{
  return gigapixel::commandline::RunProgram(argc, argv);
}
