/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelDevice_h
#define gigapixelDevice_h

#include "GigapixelNetworkExport.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

class NetworkDescription;

/** What is kept of the numbers that layers multiply: maps, the maps' gradients and weights, each rounded to the nearest
 * one (of two, the even one) when it is stored. Pixels are bytes, and biases, sums, logits that go into the loss at
 * once, gradients of the weights and Adam's moments are float or double in every precision. */
enum class Precision
{
  Float,         ///< fp32: 24 significant bits
  TensorFloat32, ///< tf32: 11, a float's range; what tensor cores read of a float, and as large as that
  BFloat16,      ///< bf16: 8, a float's range; half of its size
  Float16,       ///< fp16: 11, up to 65504; half of its size; each tile's gradient is scaled, see ChainPasses
  Double         ///< for tests: LibTorch's operations
};

/** \class Device
 * \brief What computes tiles, the CPU or one of NVIDIA's GPUs, and with what numbers.
 *
 * A network that is a graph is computed by LibTorch: by the CPU in fp32 or bf16, by a GPU also in tf32. For a chain of
 * layers the CPU rounds to any precision in float maps: it shows what a precision does to such a network, not its
 * speed. */
struct GigapixelNetwork_EXPORT Device
{
  int       cuda{ -1 };                    ///< number of the GPU; -1: the CPU
  Precision precision{ Precision::Float }; ///< how values are stored and multiplied
  /** A GPU keeps maps in memory that it shares with the CPU, and reads pixels and classes from such memory where they
   * lie there: TrainingOptions::sharedMemory. Of chains of layers. */
  bool shared{ false };

  /** \param name "cpu"; "cuda:1"; "cuda": the first GPU, or that of the process' place among the ranks of its host;
   * "auto": the same if there is a GPU, else the CPU.
   * \param precisionName as for FindPrecision()
   * \throw std::invalid_argument no such name; std::runtime_error no such GPU: what is missing; "mps" */
  static Device Find(const std::string & name, const std::string & precisionName = "fp32");

  /** One line for each GPU that can be used, by chains of layers or by LibTorch. */
  static std::vector<std::string> GetDescriptions();

  /** Why it cannot share its memory with the CPU while both work; empty if it can, as the CPU always. */
  std::string GetSharingProblem() const;

  /** Bytes of the GPU's memory that a network which is a graph may still take; none: it is the CPU, or the LibTorch
   * that computes there does not say. */
  std::optional<std::int64_t> GetFreeBytes() const;

  /** Most bytes of the GPU's memory that networks which are graphs have taken in this process; none as above. */
  std::optional<std::int64_t> GetPeakBytes() const;

  /** Why there is no GPU that can be used; empty if there is one. */
  static std::string GetProblem();
};

/** \param name "fp32", "tf32", "bf16" or "fp16" \throw std::invalid_argument another one */
GigapixelNetwork_EXPORT Precision FindPrecision(const std::string & name);

/** "fp32", ... */
GigapixelNetwork_EXPORT std::string GetName(Precision precision);

/** Bytes of a value of a map. */
GigapixelNetwork_EXPORT int GetValueBytes(Precision precision);

/** A sentence on why the CPU gains nothing from this precision for a network that is a graph; empty: it does. */
GigapixelNetwork_EXPORT std::string GetPrecisionProblem(Precision precision);

/** What plans and computes a network asks first. \throw std::invalid_argument a network that is a graph is not computed
 * on this device in this precision; std::runtime_error it is not on this CPU, or there is no such GPU for it */
GigapixelNetwork_EXPORT void CheckDevice(const NetworkDescription & network, const Device & device);

} // namespace gigapixel

#endif
