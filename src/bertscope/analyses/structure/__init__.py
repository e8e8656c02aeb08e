"""`structure`: does a layer hold the syntax tree?

`trees` are the targets, `probes` are trained together, `metrics` scores them.
"""
