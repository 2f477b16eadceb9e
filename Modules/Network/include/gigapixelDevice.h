/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelDevice_h
#define gigapixelDevice_h

#include "GigapixelNetworkExport.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** \class Device
 * \brief What computes tiles: the CPU, or one of NVIDIA's GPUs. */
struct GigapixelNetwork_EXPORT Device
{
  int cuda{ -1 }; ///< number of the GPU; -1: the CPU

  /** \param name "cpu"; "cuda:1"; "cuda": the first GPU, or that of the process' place among the ranks of its host;
   * "auto": the same if there is a GPU, else the CPU.
   * \throw std::invalid_argument no such name; std::runtime_error no such GPU: what is missing */
  static Device Find(const std::string & name);

  /** One line for each GPU that can be used. */
  static std::vector<std::string> GetDescriptions();

  /** Why there is no GPU that can be used; empty if there is one. */
  static std::string GetProblem();
};

} // namespace gigapixel

#endif
