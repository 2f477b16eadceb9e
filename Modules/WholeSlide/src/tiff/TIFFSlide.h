/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TIFFSlide_h
#define TIFFSlide_h

#include "slide/Slide.h"
#include "TIFFLayout.h"

#include <optional>

namespace gigapixel
{

/** A TIFF whose tiles (or strips) we decode ourselves, whichever format says what its pages are. */
class TIFFSlide : public Slide
{
public:
  /** A layout whose first level has no obstacle. Throws std::exception in a few words. */
  TIFFSlide(const std::string & path, std::shared_ptr<const TIFFLayout> layout);

  std::shared_ptr<const TIFFLayout> GetTIFFLayout() const override;

protected:
  bool        HasTile(unsigned plane, std::uint64_t tile) const override;
  std::string DecodeTile(unsigned                           plane,
                         std::uint64_t                      tile,
                         const PixelSpan &                  out,
                         std::unique_ptr<unsigned char[]> * scanned) const override;

  std::string DecodeChannels(unsigned                           plane,
                             std::uint64_t                      tile,
                             const std::vector<unsigned> &      channels,
                             const PixelSpan &                  out,
                             std::unique_ptr<unsigned char[]> * scanned) const override;

  std::string DecodeReducedTile(unsigned          plane,
                                std::uint64_t     tile,
                                unsigned          reduction,
                                const PixelSpan & out) const override;
  unsigned    GetLargestReduction(unsigned plane) const override;
  std::size_t GetDecodingBytes(unsigned plane) const override;
  void        Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const override;

private:
  /** What decoding a plane's tiles needs of its page. */
  struct Source
  {
    const TIFFPage *            page;
    TIFFCompression             compression;
    ColorModel                  model;
    TIFFAlpha                   alpha;
    std::string                 tables;         // of JPEG
    std::vector<unsigned char>  palette;        // 256 RGB
    std::optional<ChannelColor> channelColor{}; // that the palette stands for
    TIFFPage::Pieces            pieces;
    std::optional<std::size_t>  transparency;    // which of the masks says what was scanned
    std::vector<Source>         furtherChannels; // pages of their own
  };

  Source                     MakeSource(std::size_t page, bool isChannel);
  void                       FindTransparencyMasks();
  std::optional<std::size_t> GetTransparency(const TIFFPage & page) const;
  void                       ApplyTransparency(unsigned                           plane,
                                               std::uint64_t                      tile,
                                               const PixelSpan &                  out,
                                               std::unique_ptr<unsigned char[]> * scanned) const;
  void                       ReadTransparency(unsigned                     plane,
                                              std::uint64_t                tile,
                                              StoredSize                   stored,
                                              std::vector<unsigned char> & shown) const;
  const unsigned char * DecodeTransparencyPiece(const Source & mask, std::uint64_t piece, std::uint64_t across) const;
  void                  SetEmptyPixel(const Source & source, SlidePlane & plane) const;
  void                  WarnOfEmptyTiles();
  void                  WarnOfLoss();
  void                  AddPlane(std::size_t page, std::string name, const std::vector<std::size_t> & furtherChannels);
  void                  DecodeStored(const Source &                source,
                                     const SlidePlane &            of,
                                     std::uint64_t                 tile,
                                     StoredSize                    stored,
                                     const PixelSpan &             out,
                                     const std::vector<unsigned> & channels = {}) const;
  std::string           DecodePicture(unsigned                           plane,
                                      std::uint64_t                      tile,
                                      StoredSize                         stored,
                                      const PixelSpan &                  out,
                                      std::unique_ptr<unsigned char[]> * scanned) const;
  void                  CropLevels();
  void                  FillProperties();
  void                  FillLevelProperties();
  ByteSpan              ReadPiece(const Source & source, std::uint64_t piece) const;
  bool                  IsInverted(const Source & source) const;
  static bool           IsDirect(const Source & source);
  StoredSize            GetStoredSize(unsigned plane, std::uint64_t tile) const;
  static std::string    DecodeImage(const Source & source, ByteSpan bytes, const PixelSpan & out, StoredSize stored);
  std::string DecodeSamples(const Source & source, ByteSpan bytes, const PixelSpan & raw, StoredSize stored) const;
  std::string DecodePieces(const Source &     source,
                           std::uint64_t      tile,
                           const SlidePlane & plane,
                           StoredSize         stored,
                           unsigned char *    raw) const;
  void Convert(const Source & source, const unsigned char * raw, const PixelSpan & out, unsigned char * scanned) const;
  void ConvertAlpha(const Source &        source,
                    const unsigned char * raw,
                    const PixelSpan &     out,
                    unsigned char *       scanned) const;

  std::shared_ptr<const TIFFLayout> m_Layout;
  std::vector<Source>               m_Sources;      // one per plane; those of reduced levels are empty
  std::vector<Source>               m_Transparency; // mask pages, finest first
  bool                              m_ReadsLabels{ false };
  bool                              m_HoldsLabels{ false };
  std::uint64_t                     m_TableEntries = 0; // of all planes and their channels
};

} // namespace gigapixel

#endif
