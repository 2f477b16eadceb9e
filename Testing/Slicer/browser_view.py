# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Serves Slicer's view from above of a slide with its segmentation: browser_view.py VOLUME.nrrd LABELS.seg.nrrd PORT."""

import sys

from trame.app import TrameApp
from trame.widgets import client
from trame_slicer.core import LayoutManager, SlicerApp
from trame_slicer.rca_view import register_rca_factories
from trame_vuetify.ui.vuetify3 import VAppLayout


class View(TrameApp):
    def __init__(self, volume, segmentation):
        super().__init__()
        self.slicer = SlicerApp()
        register_rca_factories(self.slicer.view_manager, self._server)
        layouts = LayoutManager(self.slicer.scene, self.slicer.view_manager, self._server)
        layouts.register_layout_dict(LayoutManager.default_grid_configuration())
        layouts.set_layout("Axial Only")
        with VAppLayout(self._server) as self.ui:
            client.Style("html { overflow: hidden; }")
            layouts.initialize_layout_grid(self.ui)
        self.show(volume, segmentation)

    def show(self, volume, segmentation):
        node = self.slicer.io_manager.load_volumes(volume)[0]
        node.GetDisplayNode().SetAutoWindowLevel(0)
        node.GetDisplayNode().SetWindowLevelMinMax(0, 255)
        self.slicer.display_manager.show_volume(node)
        display = self.slicer.io_manager.load_segmentation(segmentation).GetDisplayNode()
        display.SetVisibility2DFill(True)
        display.SetOpacity2DFill(0.3)
        display.SetVisibility2DOutline(False)
        for view in self.slicer.view_manager.get_slice_views():
            view.fit_view_to_content()


if __name__ == "__main__":
    View(sys.argv[1], sys.argv[2]).server.start(port=int(sys.argv[3]), host="127.0.0.1", open_browser=False)
