/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Philips' TIFF, made with libtiff, against OpenSlide: sizes, resolution and pixels of all levels. Exact.
#include "ReaderTesting.h"

#include "itkMetaDataObject.h"

#include <memory>

#include <gtest/gtest.h>
#include <openslide.h>

using namespace gigapixel_test;

namespace
{

std::string
MakeAttribute(const std::string & name, const std::string & type, const std::string & value)
{
  return "<Attribute Name=\"" + name + "\" Group=\"0x0000\" Element=\"0x0000\" PMSVR=\"" + type + "\">" + value +
         "</Attribute>";
}

std::string
MakeObject(const std::string & type, const std::string & attributes)
{
  return "<DataObject ObjectType=\"" + type + "\">" + attributes + "</DataObject>";
}

std::string
MakeSpacing(const std::string & millimeters)
{
  const std::string quoted = '"' + millimeters + '"';
  return MakeAttribute("DICOM_PIXEL_SPACING", "IDoubleArray", quoted + ' ' + quoted);
}

/** Levels of 1024, 512 and 256 stored pixels, of which the last is really 1/9. */
std::string
MakeDescription()
{
  std::string levels;
  for (const char * const spacing : { "0.00025", "0.0005", "0.00225" })
  {
    levels += MakeObject("PixelDataRepresentation", MakeSpacing(spacing));
  }
  const std::string slide =
    MakeAttribute("PIM_DP_IMAGE_TYPE", "IString", "WSI") + MakeSpacing("0.00025") +
    MakeAttribute("PIIM_PIXEL_DATA_REPRESENTATION_SEQUENCE", "IDataObjectArray", "<Array>" + levels + "</Array>");
  return "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>" +
         MakeObject("DPUfsImport",
                    MakeAttribute("DICOM_MANUFACTURER", "IString", "PHILIPS") +
                      MakeAttribute("PIM_DP_SCANNED_IMAGES",
                                    "IDataObjectArray",
                                    "<Array>" + MakeObject("DPScannedImage", slide) + "</Array>"));
}

std::string
WritePhilips(const std::string & name)
{
  PyramidOptions options;
  options.width = options.height = 1024;
  options.compression = COMPRESSION_JPEG;
  options.photometric = PHOTOMETRIC_YCBCR;
  options.leaveOutFirstTile = true;
  options.software = "Philips DP v1.0";
  options.description = MakeDescription();
  std::string path = TemporaryFile(name);
  WritePyramid(path, options);
  return path;
}

} // namespace

TEST(WholeSlideImageIOPhilips, IsAsOpenSlideReadsIt)
{
  const std::string path = WritePhilips("philips.tiff");
  const auto        io = OpenSlideFile(path);
  EXPECT_EQ(io->GetVendor(), "philips");
  EXPECT_EQ(io->GetDecoder(), "tiles (JPEG)");
  EXPECT_TRUE(io->CanReadFile(path.c_str()));
  EXPECT_DOUBLE_EQ(io->GetMicronsPerPixel(), 0.25);
  const std::unique_ptr<openslide_t, void (*)(openslide_t *)> slide(openslide_open(path.c_str()), openslide_close);
  ASSERT_NE(slide, nullptr);
  ASSERT_EQ(io->GetNumberOfLevels(), static_cast<unsigned>(openslide_get_level_count(slide.get())));
  ASSERT_EQ(io->GetNumberOfLevels(), 3u);
  for (int level = 0; level < 3; ++level)
  {
    std::int64_t width = 0;
    std::int64_t height = 0;
    openslide_get_level_dimensions(slide.get(), level, &width, &height);
    const Picture ours = ReadLevel(*io, static_cast<unsigned>(level), 3);
    ASSERT_EQ(ours.width, width);
    ASSERT_EQ(ours.height, height);
    EXPECT_DOUBLE_EQ(io->GetLevelDownsample(static_cast<unsigned>(level)),
                     openslide_get_level_downsample(slide.get(), level));
    std::vector<std::uint32_t> argb(static_cast<std::size_t>(width * height));
    openslide_read_region(slide.get(), argb.data(), 0, 0, level, width, height);
    ASSERT_EQ(openslide_get_error(slide.get()), nullptr);
    std::size_t different = 0;
    for (std::size_t i = 0; i < argb.size(); ++i)
    {
      for (unsigned channel = 0; channel < 3; ++channel)
      {
        const bool     scanned = argb[i] >> 24 != 0;
        const unsigned expected = scanned ? argb[i] >> (16 - 8 * channel) & 255u : 255u;
        different += ours.pixels[3 * i + channel] != expected ? 1 : 0;
      }
    }
    EXPECT_EQ(different, 0u) << "level " << level;
  }
  std::vector<unsigned char> scanned(64 * 64);
  EXPECT_FALSE(io->ReadScanned(0, 0, 0, 64, 64, scanned.data()));
  EXPECT_EQ(scanned.front(), 0);
}

TEST(WholeSlideImageIOPhilips, PropertiesAreOpenSlides)
{
  const std::string path = WritePhilips("philips-properties.tiff");
  const auto        io = OpenSlideFile(path);
  std::string       manufacturer;
  itk::ExposeMetaData<std::string>(io->GetMetaDataDictionary(), "philips.DICOM_MANUFACTURER", manufacturer);
  EXPECT_EQ(manufacturer, "PHILIPS");
}
