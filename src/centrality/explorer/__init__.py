"""The explorer: a page that turns the dial over your own map. Compute, plain data, page: three pieces.

`view` asks a model and makes a `View`, arrays and plain values only; `payload` packs it into bytes; `page`, `server`
and `widget` show these bytes in one file, on this machine, and in a notebook. The front end is built from `web/`.
"""
