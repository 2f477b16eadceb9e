/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelParameterLayout_h
#define gigapixelParameterLayout_h

#include "gigapixelModel.h"

namespace gigapixel
{

/** Place of one layer's weights and bias among all parameters of a network, which the engine keeps in one array in
 * the layers' order: weight, bias, weight, bias, ... */
struct ParameterPlace
{
  std::size_t weight;
  std::size_t numberOfWeights;
  std::size_t bias;
  std::size_t numberOfBiases;
};

/** Of a network of layers. */
GigapixelNetwork_EXPORT std::vector<ParameterPlace> GetParameterLayout(const NetworkDescription & network);

/** The parameters as floats, and the weights among them, but not the biases, as a precision keeps them.
 * \param round (values, number) rounds in place; null: nothing is rounded */
GigapixelNetwork_EXPORT std::vector<float> RoundWeights(const std::vector<ParameterPlace> & layout,
                                                        const std::vector<double> &         parameters,
                                                        void (*round)(float *, std::size_t));

/** All parameters of any network, in the order of NetworkDescription::GetParameters(). */
GigapixelNetwork_EXPORT std::vector<double> ToArray(const Model & model);

GigapixelNetwork_EXPORT std::map<std::string, Parameter> ToParameters(const NetworkDescription &  network,
                                                                      const std::vector<double> & array);

} // namespace gigapixel

#endif
