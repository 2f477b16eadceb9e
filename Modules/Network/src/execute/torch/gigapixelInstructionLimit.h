/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelInstructionLimit_h
#define gigapixelInstructionLimit_h

namespace gigapixel::torchmodule
{

/** Keeps the oneDNN of LibTorch 1 from the tile instructions of AMX, with which convolutions of oneDNN 2.6.3 in bf16
 * come to values that are no finite numbers; those of LibTorch 2 are right. Floats do not use them. It is of the whole
 * process, and can be said only before oneDNN compiles anything. What ONEDNN_MAX_CPU_ISA says stays. \return whether
 * bf16 can be computed: false where others have used oneDNN before, on a processor with AMX */
bool AvoidTileInstructions();

} // namespace gigapixel::torchmodule

#endif
