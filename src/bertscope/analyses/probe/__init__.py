"""`probe`: what can be read off a layer's vectors.

`targets` are what is read, `sample` the items used, `vectors` what probes read; `training` trains them side by side.
"""
