"""Pages for people that need more than a template: curves, sensors, clients, topics and users.

``chart`` is pure and turns points into the paths and labels of a curve. ``sensors`` chooses the
quantities to show of each device. Modules named ``*_page`` serve the pages. The overview is in
``api.page``.
"""
