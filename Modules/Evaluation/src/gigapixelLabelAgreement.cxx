/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLabelAgreement.h"

#include <array>

namespace gigapixel
{

double
LabelAgreement::GetDice() const
{
  return 2 * static_cast<double>(both) / static_cast<double>(predicted + isTrue);
}

std::vector<LabelAgreement>
CountLabels(const LabelVolume & prediction, const LabelVolume & truth)
{
  std::array<LabelAgreement, 256> all{};
  for (std::size_t i = 0; i < truth.labels.size(); ++i)
  {
    const std::uint8_t said = prediction.labels[i], label = truth.labels[i];
    ++all[said].predicted;
    ++all[label].isTrue;
    all[label].both += said == label ? 1 : 0;
  }
  std::vector<LabelAgreement> there;
  for (std::size_t label = 1; label < all.size(); ++label)
  {
    if (all[label].predicted + all[label].isTrue > 0)
    {
      all[label].label = static_cast<std::uint8_t>(label);
      there.push_back(all[label]);
    }
  }
  return there;
}

} // namespace gigapixel
