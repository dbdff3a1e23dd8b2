"""Pages for people that are more than one template: curves, sensors, and the gateway's lines.

``chart`` is pure and turns points into the paths and labels of a curve; ``sensors`` chooses what is
shown of each device; ``sensors_page`` and ``system_page`` serve the pages. The overview is in
``api.page``.
"""
