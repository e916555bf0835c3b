-- Scores inside PostgreSQL, by PL/Python: the whole model, its p-values, severities and reasons.
--
-- Run this once in the database, as a superuser:  psql -f postgresql.sql shop
-- It needs the server's package of PL/Python (Debian: postgresql-plpython3-15), and centrality where the server's own
-- Python finds it, of the same version (Debian: PYTHONPATH in /etc/postgresql/15/main/environment). The server's user
-- must be able to read the model's file.
--
--   SELECT * FROM centrality.scores('/srv/orders.safetensors', 'SELECT * FROM orders', 'id') ORDER BY severity DESC;
--   SELECT centrality.severity('/srv/orders.safetensors', to_jsonb(orders)) FROM orders WHERE id = 7;

CREATE EXTENSION IF NOT EXISTS plpython3u;
CREATE SCHEMA IF NOT EXISTS centrality;

-- The rows of a query, 10,000 at a time. The key is a column of the query, and comes back as text. Reasons take most of
-- the time: of very many rows, ask without them.
CREATE OR REPLACE FUNCTION centrality.scores(model text, query text, key text, reasons boolean DEFAULT true)
RETURNS TABLE (key_value text, score float8, p_value float8, severity float8, reason text)
LANGUAGE plpython3u STABLE AS $$
import os
from decimal import Decimal
import pyarrow
from centrality import load
from centrality.bulk.functions import RowFunctions

written = os.stat(model).st_mtime_ns
if GD.get(model, (None, None))[0] != written:  # each connection loads a model once
    GD[model] = written, RowFunctions(load(model))
functions = GD[model][1]
cursor = plpy.cursor(query)
while rows := cursor.fetch(10_000):
    names = list(rows[0])
    if key not in names:
        plpy.error(f"a column {key!r} was wanted as key, got the columns {', '.join(names)}")
    columns = {name: [row[name] for row in rows] for name in {key, *functions.columns} & set(names)}
    columns = {
        name: [float(value) if isinstance(value, Decimal) else value for value in values]
        for name, values in columns.items()
    }
    table = pyarrow.table(columns)
    names = [name for name in functions.names if reasons or name != "reason"]
    by_name = {name: functions.values(name, table).to_pylist() for name in names}
    empty = [None] * len(columns[key])
    yield from zip(
        [None if value is None else str(value) for value in columns[key]],
        *(by_name.get(name, empty) for name in ("centrality", "p_value", "severity", "reason")),
    )
$$;

-- One row: in a trigger, or for the few rows that a WHERE leaves. Each call costs what a batch above costs.
CREATE OR REPLACE FUNCTION centrality.severity(model text, one_row jsonb)
RETURNS float8 LANGUAGE plpython3u STABLE AS $$
import json
import os
import pyarrow
from centrality import load
from centrality.bulk.functions import RowFunctions

written = os.stat(model).st_mtime_ns
if GD.get(model, (None, None))[0] != written:
    GD[model] = written, RowFunctions(load(model))
row = {name: [value] for name, value in json.loads(one_row).items()}
return GD[model][1].values("severity", pyarrow.table(row)).to_pylist()[0]
$$;

-- Who may call them may have the server's user open any model file.
REVOKE ALL ON SCHEMA centrality FROM PUBLIC;
