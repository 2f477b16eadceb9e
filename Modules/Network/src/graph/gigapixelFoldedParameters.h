/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFoldedParameters_h
#define gigapixelFoldedParameters_h

#include "gigapixelNetworkGraph.h"

#include <functional>

namespace gigapixel
{

/** Of each operation that is a norm with frozen statistics, and goes into the weights of the convolution before it,
 * whose map only it reads, the place of that convolution: nothing is left to compute for it. Of all others -1. */
GigapixelNetwork_EXPORT std::vector<int> FindFolded(const NetworkGraph & graph);

/** \class FoldedParameters
 * \brief The arrays that operations are computed with, in training, too: batch norms, whose statistics are frozen, are
 * folded into the convolutions before them, and are a scale and a shift elsewhere.
 *
 * Gradients are taken for these arrays, and those of the network's parameters follow from them once a step, by the
 * chain rule on small arrays: a map less for each batch norm, and a pass over it. */
class GigapixelNetwork_EXPORT FoldedParameters
{
public:
  struct Array
  {
    std::string               role; ///< "weight", "bias"
    std::vector<std::int64_t> shape;
    std::size_t               first; ///< among all values
    std::size_t               size;
  };

  /** \param graph validated */
  explicit FoldedParameters(const NetworkGraph & graph);

  /** Of all arrays together. */
  std::size_t
  GetNumberOfValues() const
  {
    return m_NumberOfValues;
  }

  const std::vector<Array> &
  GetArrays(int operation) const
  {
    return m_Arrays[operation];
  }

  /** Calls take(array, values) for each array of an operation.
   * \param parameters those of NetworkGraph::GetParameters(), one behind the other */
  void Fold(const std::vector<double> &                                parameters,
            int                                                        operation,
            const std::function<void(const Array &, const double *)> & take) const;

  /** Gradient of the parameters, 0 for statistics.
   * \param read (first, number, values) reads that of the folded arrays, from one of all their values on */
  template <typename T>
  std::vector<double> Unfold(const std::vector<T> &                                          parameters,
                             const std::function<void(std::size_t, std::size_t, double *)> & read) const;

private:
  /** A batch norm, and the convolution it is folded into, or -1; the places of parameters, or None. */
  struct Norm
  {
    static constexpr std::size_t None = static_cast<std::size_t>(-1);

    int         operation;
    int         convolution{ -1 };
    std::size_t gamma{ None };
    std::size_t beta{ None };
    std::size_t mean{ 0 };
    std::size_t variance{ 0 };
    std::size_t weight{ None };
    std::size_t bias{ None };

    template <typename T>
    double GetDeviation(const std::vector<T> & parameters, std::size_t channel, double eps) const;
  };

  std::size_t GetPlace(int operation, const char * role) const;
  Norm        MakeNorm(int operation) const;
  void        AddArray(int operation, const ParameterDescription & array, std::size_t first);

  /** What a norm multiplies each channel by. */
  template <typename T>
  std::vector<double> GetScales(const Norm & norm, const std::vector<T> & parameters) const;

  void FoldNorm(const Norm &                                               norm,
                const std::vector<double> &                                parameters,
                const std::function<void(const Array &, const double *)> & take) const;

  NetworkGraph                       m_Graph;
  std::map<std::string, std::size_t> m_Places; ///< of the parameters
  std::size_t                        m_NumberOfParameters{ 0 };
  std::size_t                        m_NumberOfValues{ 0 };
  std::vector<std::vector<Array>>    m_Arrays;
  std::vector<Norm>                  m_Norms;
  std::vector<int>                   m_NormOf; ///< of each operation that has the arrays of a norm, its place; -1: none
  /** Arrays that are as they are in the parameters: place there, place here, size. */
  struct Plain
  {
    std::size_t parameter;
    std::size_t first;
    std::size_t size;
  };
  std::vector<Plain> m_Plain;
};

} // namespace gigapixel

#endif
