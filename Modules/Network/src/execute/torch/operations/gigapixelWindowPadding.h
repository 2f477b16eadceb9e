/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelWindowPadding_h
#define gigapixelWindowPadding_h

#include "gigapixelOperationCall.h"

namespace gigapixel::torchmodule
{

/** \class WindowPadding
 * \brief How a convolution or pooling of a part of a map is padded: where the real map ends, and nowhere else.
 *
 * Zeros that are the same number at both ends and do not change the number of outputs are left to the operator, which
 * adds them without a copy; else the part is copied into a padded one. */
class WindowPadding
{
public:
  explicit WindowPadding(const OperationCall & call);

  /** \param value of the padding */
  at::Tensor Pad(const at::Tensor & input, double value = 0) const;

  /** Gradient of Pad(): of the input's part. */
  at::Tensor Unpad(const at::Tensor & gradient) const;

  // For the operator.
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> dilation;
  std::vector<std::int64_t> padding;

private:
  std::vector<std::int64_t> GetMirroredIndices(int axis) const;

  const OperationCall & m_Call;
  Box                   m_Seen; ///< what is to be shown to the operator; may end beyond the real map
  bool                  m_Mirrors{ false };
};

} // namespace gigapixel::torchmodule

#endif
