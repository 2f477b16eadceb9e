/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ColorTransform_h
#define ColorTransform_h

#include <cstddef>
#include <string>

namespace gigapixel
{

/** From the colors of a scanner to sRGB, by its ICC profile (Little CMS 2). */
class ColorTransform
{
public:
  /** \a profile as it stands in the file. Perceptual intent: what viewers do unasked, and the only one that tables of
   * scanners have to hold. Throws std::runtime_error, in a few words, where it is damaged or not one of RGB. */
  explicit ColorTransform(const std::string & profile);
  ~ColorTransform();
  ColorTransform(const ColorTransform &) = delete;
  ColorTransform & operator=(const ColorTransform &) = delete;

  /** Converts \a pixels RGB triples of 8 bit in place. May be called by any number of threads. */
  void Apply(unsigned char * rgb, std::size_t pixels) const;

private:
  void * m_Transform;
};

} // namespace gigapixel

#endif
