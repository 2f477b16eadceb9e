/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlideSlide_h
#define OpenSlideSlide_h

#include "Slide.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

typedef struct _openslide openslide_t;

namespace gigapixel
{

/** The vendor whose slide OpenSlide takes the file for; empty for none, or without OpenSlide. Opens nothing for good.
 */
std::string DetectOpenSlideVendor(const std::string & path);

/** All properties that OpenSlide has of a file; none where it does not open it, or is not installed. */
std::map<std::string, std::string> ReadOpenSlideProperties(const std::string & path);

/** Empty where it is not installed. */
std::string GetOpenSlideVersion();

/** A slide read through OpenSlide.
 *
 * OpenSlide resamples levels above the first, with pixels that depend on the region asked for. So it is asked for the
 * tiles of a fixed grid only, from which regions are cut: the same pixels for every region and division. */
class OpenSlideSlide : public Slide
{
public:
  /** Throws std::runtime_error, in a few words, where OpenSlide does not open the file; SlideError without OpenSlide.
   */
  explicit OpenSlideSlide(const std::string & path);
  ~OpenSlideSlide() override;

protected:
  bool        HasTile(unsigned plane, std::uint64_t tile) const override;
  std::string DecodeTile(unsigned                           plane,
                         std::uint64_t                      tile,
                         const PixelSpan &                  out,
                         std::unique_ptr<unsigned char[]> * scanned) const override;

private:
  void AddLevels();
  void AddAssociated();
  void ReadColorProfile();

  std::shared_ptr<openslide_t> GetHandle() const;
  void                         ReplaceHandle(openslide_t * failed, std::shared_ptr<openslide_t> by) const;
  void ReadPixels(openslide_t * handle, unsigned plane, const Rectangle & region, std::uint32_t * argb) const;

  /** An error of OpenSlide stays with the handle and fails all that comes after it: such a handle is let go of. */
  mutable std::shared_ptr<openslide_t> m_Handle;
  mutable std::mutex                   m_HandleMutex;
};

} // namespace gigapixel

#endif
