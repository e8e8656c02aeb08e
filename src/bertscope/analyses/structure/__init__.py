"""`structure`: does a layer hold the syntax tree?

`trees` are the targets, `data` says which sentences serve for what; `probes` are trained together, `metrics` scores
them, `study` goes through it all.
"""
