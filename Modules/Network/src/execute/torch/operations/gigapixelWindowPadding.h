/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelWindowPadding_h
#define gigapixelWindowPadding_h

#include "gigapixelOperationCall.h"
#include "graph/gigapixelPaddedWindow.h"

namespace gigapixel::torchmodule
{

/** \class WindowPadding
 * \brief Pads the input's part of a call as its PaddedWindow says. */
class WindowPadding : public PaddedWindow
{
public:
  explicit WindowPadding(const OperationCall & call);

  /** \param value of the padding */
  at::Tensor Pad(const at::Tensor & input, double value = 0) const;

  /** As Pad() returns, whose values are not set: for its shape, or its gradient. */
  at::Tensor MakeMap() const;

  /** Gradient of Pad(): of the input's part. */
  at::Tensor Unpad(const at::Tensor & gradient) const;

private:
  const OperationCall & m_Call;
};

} // namespace gigapixel::torchmodule

#endif
