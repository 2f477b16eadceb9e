/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ColorTransform.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include <lcms2.h>

namespace gigapixel
{
namespace
{
struct CloseProfile
{
  void
  operator()(void * profile) const
  {
    cmsCloseProfile(profile);
  }
};
using Profile = std::unique_ptr<void, CloseProfile>;
} // namespace

ColorTransform::ColorTransform(const std::string & profile)
{
  const Profile source(cmsOpenProfileFromMem(profile.data(), static_cast<cmsUInt32Number>(profile.size())));
  const Profile target(cmsCreate_sRGBProfile());
  if (!source || !target)
  {
    throw Refusal(Diagnostic("E-SLIDE-PROFILE", "its color profile is damaged"));
  }
  if (cmsGetColorSpace(source.get()) != cmsSigRgbData)
  {
    throw Refusal(Diagnostic("E-SLIDE-PROFILE", "its color profile is not one of RGB"));
  }
  // Little CMS keeps the last color otherwise, in a place that threads would share.
  m_Transform =
    cmsCreateTransform(source.get(), TYPE_RGB_8, target.get(), TYPE_RGB_8, INTENT_PERCEPTUAL, cmsFLAGS_NOCACHE);
  if (m_Transform == nullptr)
  {
    throw Refusal(Diagnostic("E-SLIDE-PROFILE", "its color profile is damaged"));
  }
}

ColorTransform::~ColorTransform()
{
  cmsDeleteTransform(m_Transform);
}

void
ColorTransform::Apply(unsigned char * rgb, std::size_t pixels) const
{
  constexpr std::size_t atOnce = std::size_t{ 1 } << 28; // Little CMS counts with 32 bit
  for (std::size_t done = 0; done < pixels; done += atOnce)
  {
    cmsDoTransform(
      m_Transform, rgb + 3 * done, rgb + 3 * done, static_cast<cmsUInt32Number>(std::min(atOnce, pixels - done)));
  }
}

} // namespace gigapixel
