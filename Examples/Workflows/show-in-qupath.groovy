// Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
// Shows what gigapixel made of the image that is open in QuPath (0.5 or later): outlines, masks and maps of its name.
// In QuPath: Automate, Script editor. Set the folder below, then Run; for outlines and masks also Run for project.
// A second run adds the outlines once more.
import qupath.lib.common.GeneralTools
import qupath.lib.gui.QuPathGUI
import qupath.lib.gui.viewer.overlays.BufferedImageOverlay
import qupath.lib.images.servers.ImageServers
import qupath.lib.regions.ImageRegion
import qupath.lib.regions.RegionRequest
import static qupath.lib.scripting.QP.*

def folder = new File("/data/results") // of outlines (NAME.geojson), masks (NAME.pyramid.tif) or maps
def program = "gigapixel"              // where it is, if it is not on the PATH of QuPath
def isMap = false                      // true: show NAME.pyramid.tif as a map, not as outlines
def className = "Tissue"

def server = getCurrentServer()
def slide = new File(server.getURIs().iterator().next())
def name = GeneralTools.getNameWithoutExtension(slide.name)
def outlines = new File(folder, name + ".geojson")
def mask = new File(folder, name + ".pyramid.tif")

if (outlines.isFile()) {
    importObjectsFromFile(outlines.path)
} else if (!mask.isFile()) {
    println "Nothing of ${name} in ${folder}: neither ${outlines.name} nor ${mask.name}."
} else if (isMap) {
    // A map is of the whole slide; QuPath shows some slides from the corner of their scanned area on, where it would not fit.
    def map = ImageServers.buildServer(mask.path)
    def downsample = Math.max(1.0, Math.max(map.width, map.height) / 4096.0)
    def ratio = map.pixelCalibration.pixelWidthMicrons / server.pixelCalibration.pixelWidthMicrons
    if (!Double.isFinite(ratio) || Math.abs(map.width * ratio - server.width) > 2 * ratio || Math.abs(map.height * ratio - server.height) > 2 * ratio) {
        println "${mask.name} has no resolution, or is not of the area that QuPath shows of ${slide.name}: show its outlines instead."
        return
    }
    def picture = map.readRegion(RegionRequest.createInstance(map, downsample))
    def region = ImageRegion.createInstance(0, 0, (int) Math.round(map.width * ratio), (int) Math.round(map.height * ratio), 0, 0)
    def viewer = QuPathGUI.instance.viewer
    viewer.customPixelLayerOverlay = new BufferedImageOverlay(viewer.overlayOptions, region, picture)
} else {
    // The program knows where a mask lies on its slide, and QuPath's corner of a slide (--origin bounds).
    def made = File.createTempFile("gigapixel-", ".geojson")
    def process = [program, "outline", mask.path, "--like", slide.path, "--origin", "bounds", "--class-name", className,
                   "-o", made.path, "--overwrite", "--quiet"].execute()
    def out = new StringBuilder(), err = new StringBuilder()
    process.waitForProcessOutput(out, err)
    if (process.exitValue() == 0) {
        importObjectsFromFile(made.path)
    } else {
        println err
    }
    made.delete()
}
