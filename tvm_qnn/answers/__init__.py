"""The meaning of a model's outputs: classes, detections, masks and key points.

Each kind can print a table and draw on the picture. The kind of an output follows from the model's
operators, from its metadata, or from a shape that leaves no doubt. Any other output is only
described.
"""
