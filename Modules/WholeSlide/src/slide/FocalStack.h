/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef FocalStack_h
#define FocalStack_h

#include "SlideImageChoice.h"
#include "gigapixelFocalProjection.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

/** All focal planes of a file as one slide: see FocalProjection. Each level is projected by itself, from the planes'
 * own levels. Tiles that a plane does not hold do not count. */
class FocalStack : public Slide
{
public:
  /** The method that the plane is the name of; nothing for other planes. */
  static std::optional<ProjectionMethod> FindMethod(const std::string & plane);

  /** Throws SlideError where the file has no several focal planes of one kind. */
  FocalStack(const std::string & path, const AskedImage & image, TIFFReading reading);

  /** "max:1": the method, and the number of the first plane, which tells the stack. */
  std::string GetIdentity() const;

  std::size_t GetDecodingBytes(unsigned plane) const override;

protected:
  bool        HasTile(unsigned plane, std::uint64_t tile) const override;
  std::string DecodeTile(unsigned                           plane,
                         std::uint64_t                      tile,
                         const PixelSpan &                  out,
                         std::unique_ptr<unsigned char[]> * scanned) const override;

private:
  std::shared_ptr<const Slide> OpenPlane(std::size_t number, TIFFReading reading) const;

  void OpenPlanes(TIFFReading reading);
  void RequireAlike(const Slide & plane) const;
  void FindScanned(unsigned plane, std::uint64_t tile, std::unique_ptr<unsigned char[]> & scanned) const;

  template <typename TSample>
  void RepeatBorder(const Slide &     slide,
                    unsigned          plane,
                    const Rectangle & given,
                    const Rectangle & wanted,
                    TSample *         pixels) const;
  template <typename TSample>
  std::vector<TSample> Project(unsigned plane, std::uint64_t tile, const Rectangle & wanted) const;
  template <typename TSample>
  void Render(unsigned plane, std::uint64_t tile, const PixelSpan & out) const;

  ProjectionMethod                          m_Method;
  AskedImage                                m_Asked;
  std::vector<std::shared_ptr<const Slide>> m_Stack; // from the lowest depth
};

} // namespace gigapixel

#endif
