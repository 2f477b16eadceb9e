/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TestDevice_h
#define TestDevice_h

#include "execute/gigapixelGraphPasses.h"

#include <gtest/gtest.h>

namespace gigapixel
{
namespace test
{

// GraphOperators::PlainOnTestDevice: a device of LibTorch that stands for a GPU on machines without one. Its tensors
// lie in memory whose addresses the process cannot read, as a GPU's do not; an operator that is given a tensor of the
// CPU beside them throws, as on a GPU; what computes is the CPU, on copies. TestDevice.cxx makes it known to LibTorch.

/** Calls f(GraphOperators) with the operators of the CPU, with plain ones, and with those on the device. */
template <typename F>
void
ForEachOperators(const F & f)
{
  for (const auto operators : { GraphOperators::OfDevice, GraphOperators::Plain, GraphOperators::PlainOnTestDevice })
  {
    SCOPED_TRACE(operators == GraphOperators::OfDevice ? "the CPU's operators"
                 : operators == GraphOperators::Plain  ? "plain operators"
                                                       : "plain operators on the test's device");
    const GraphOperatorsForTests chosen(operators);
    f(operators);
  }
}

} // namespace test
} // namespace gigapixel

#endif
