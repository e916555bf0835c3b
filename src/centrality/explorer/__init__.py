"""Show a model's scores as a page that turns the dial over your own map: compute, plain data, page.

`view` asks a model and makes a `View`, arrays and plain values only; `payload` packs it into bytes; `page`, `server`
and `widget` show these bytes in one file, on this machine, and in a notebook. The front end is built from `web/`.
"""
