"""Show a model's scores on a page with a map of the rows and a dial for t.

`view` computes a `View` from a model, arrays and plain values only; `payload` packs it into bytes; `page`, `server`
and `widget` show these bytes in one file, on this machine, and in a notebook. The front end is built from `web/`.
"""
