"""The tables of the guides for picking, copies and labels, from benchmarks/results."""

from results import markdown, people, rows, short


def pick_coverage() -> str:
    found: dict[tuple[str, str, str], dict[str, dict[str, str]]] = {}
    for r in rows("pick_coverage"):
        found.setdefault((r["rows"], r["columns"], r["picked"]), {})[r["way"]] = r
    ways = ("select, diverse", "plain greedy", "k-centre", "random")
    body = []
    for (n, p, k), by_way in found.items():
        cells = [f"{short(r['distance'])} ({people(r['cpu_s'])} s)" if (r := by_way.get(w)) else "" for w in ways]
        body.append([f"{int(k):,} of {int(n):,} × {p}", *cells])
    return markdown(["mean distance to the nearest pick (CPU time)", *ways], body)


def pick_probe() -> str:
    found: dict[str, dict[str, dict[str, str]]] = {}
    for r in rows("pick_probe"):
        found.setdefault(r["set"], {})[r["way"]] = r
    ways = ("to label", "diverse", "k-means", "k-centre", "random")
    body = [
        [
            name,
            *(f"{short(by[w]['accuracy'])}" + ("" if w == "to label" else f" ± {short(by[w]['s.e.'])}") for w in ways),
        ]
        for name, by in found.items()
    ]
    return markdown(["accuracy from 100 picked rows (± s.e. of the difference from `to label`)", *ways], body)


def pick_scale() -> str:
    body = [[f"{int(r['rows']):,}", r["what"], people(r["cpu_s"])] for r in rows("pick_scale")]
    return markdown(["rows × 64", "what", "CPU seconds for 1,000 rows"], body)


def copies() -> str:
    body = [
        [r["set"], f"{int(r['rows']):,}", r["change"], short(r["recall"]), short(r["precision"])]
        for r in rows("copies")
    ]
    return markdown(["set", "rows", "copies differ by", "recall", "precision"], body)


def copies_by_chance() -> str:
    found = rows("copies_by_chance")
    sizes = sorted({int(r["rows"]) for r in found})
    body = []
    for name in dict.fromkeys(r["table"] for r in found):
        counts = {int(r["rows"]): f"{r['with a call']} of {r['tables']}" for r in found if r["table"] == name}
        body.append([name, *(counts[size] for size in sizes)])
    return markdown(["table", *(f"{size:,} rows, with a call" for size in sizes)], body)


def copies_time() -> str:
    body = [[f"{int(r['rows']):,}", people(r["cpu_s"]), short(r["recall"])] for r in rows("copies_time")]
    return markdown(["rows × 64", "CPU seconds", "recall"], body)


def copies_neighbours() -> str:
    body = [
        [r["way"], people(r["cpu_s"]), short(r["copies found"]), short(r["nearest found"])]
        for r in rows("copies_neighbours")
    ]
    return markdown(["100,000 rows × 64, 15 neighbours of each", "CPU seconds", "copies found", "nearest found"], body)


def mixed_rows() -> str:
    ways = ("whole", "its block", "kNN of its part", "sum of z-scores", "kNN on all", "IForest on all")
    body = [[r["set"], r["fault"], *(short(r[f"{way} AUC"]) for way in ways)] for r in rows("mixed_rows")]
    return markdown(["set", "fault", *ways], body)


def mixed_rows_reasons() -> str:
    body = [
        [r["set"], r["fault"], short(r["noticed"]), short(r["part named first"])] for r in rows("mixed_rows_reasons")
    ]
    return markdown(["set", "fault", "became odd", "of these, the first reason names the part"], body)


def mixed_rows_time() -> str:
    body = [[f"{int(r['rows']):,}", people(r["fit"]), people(r["scores"])] for r in rows("mixed_rows_time")]
    return markdown(["rows of a vector of 384, a text and ten numbers", "CPU seconds of a fit", "of all scores"], body)


def picture_regions() -> str:
    ways = ("ours", "PatchCore", "PatchCore whitened")
    columns = [*ways, *(f"{way} pixels" for way in ways)]
    found = rows("picture_regions")
    body = [[r["set"], r["encoder"], *(short(r[column]) for column in columns)] for r in found]
    for encoder in dict.fromkeys(r["encoder"] for r in found):
        of_encoder = [r for r in found if r["encoder"] == encoder]
        means = [sum(float(r[column]) for r in of_encoder) / len(of_encoder) for column in columns]
        body.append(["**mean**", encoder, *(short(str(mean)) for mean in means)])
    return markdown(["set", "encoder", "PictureRegions", "PatchCore", "PatchCore, whitened vectors", "pixels:"
                     " PictureRegions", "PatchCore", "PatchCore, whitened vectors"], body)  # fmt: skip


def picture_regions_choices() -> str:
    found = rows("picture_regions_choices")
    columns = ("lowest", "1%", "5%", "mean", "pixels")
    body = []
    for encoder in dict.fromkeys(r["encoder"] for r in found):
        for position in dict.fromkeys(r["position"] for r in found):
            chosen = [r for r in found if r["encoder"] == encoder and r["position"] == position]
            means = [sum(float(r[column]) for r in chosen) / len(chosen) for column in columns]
            body.append([encoder, f"{float(position):g}", *(short(str(mean)) for mean in means)])
    return markdown(["encoder", "`position`", "the oddest patch", "mean of 1% (`lowest=0.01`)", "of 5%", "of all",
                     "pixels"], body)  # fmt: skip


def picture_regions_marks() -> str:
    columns = ("good marked", "faulty marked", "first box on the fault")
    body = [[r["set"], r["encoder"], *(short(r[column]) for column in columns)] for r in rows("picture_regions_marks")]
    return markdown(["set", "encoder", "good pictures with a mark", "faulty ones", "first box lies on the fault"], body)


def findings_cells() -> str:
    found = [r for r in rows("findings_cells") if r["table"] == "hospital"]
    body = [[r["way"], short(r["average_precision"]), short(r["precision_at_wrong"])] for r in found]
    return markdown(["way", "average precision", "wrong among as many first"], body)


def findings_peers() -> str:
    ours, others = rows("findings_planted"), rows("findings_peers")
    faults = list(dict.fromkeys(r["fault"] for r in ours))
    body = []
    for fault in faults:
        counts = [sum(int(r["found"]) for r in ours if r["fault"] == fault)]
        counts += [sum(int(r[peer]) for r in others if r["fault"] == fault) for peer in ("datalab", "ydata_profiling")]
        body.append([fault, *(f"{count} of 3" for count in counts)])
    return markdown(["fault", "centrality check", "Datalab", "ydata-profiling"], body)


def findings_planted() -> str:
    found = rows("findings_planted")
    body = []
    for fault in dict.fromkeys(r["fault"] for r in found):
        of_fault = [r for r in found if r["fault"] == fault]
        body.append([fault, f"{sum(int(r['found']) for r in of_fault)} of {len(of_fault)}",
                     str(sum(int(r["others"]) for r in of_fault))])  # fmt: skip
    return markdown(["fault", "found", "other findings that the table without it does not have"], body)


def labels() -> str:
    body = [
        [r["set"], r["classes"], r["way"], short(r["ap"]), _behind(r), short(r["auc"]), people(r["cpu_s"])]
        for r in rows("labels")
    ]
    header = ["set", "classes", "order by", "average precision", "behind", "AUC-ROC", "CPU seconds"]
    return markdown(header, body)


def _behind(row: dict[str, str]) -> str:
    """By how much average precision is below that of ours, with its standard error where there is one."""
    se = f" ± {short(row['s.e.'])}" if row["s.e."] else ""
    return "" if row["way"] == "wrong_labels" else short(row["behind"]) + se


def marks() -> str:
    names = {"marks": "`review`, all marks right", "10% wrong": "`review`, a tenth of the marks wrong"}
    body = [
        [
            names.get(r["way"], r["way"]),
            r["marks"],
            f"{float(r['found']):.1f}",
            f"{float(r['times plain']):.2f}",
            f"{r['sets worse']} ({r['worst']})",
            f"{float(r['intervals held']):.0%}" if r["intervals held"] else "",
        ]
        for r in rows("marks")
        if r["marks"] in ("20", "50", "100")
    ]
    header = [
        "order by",
        "marks",
        "outliers found",
        "times plain",
        "sets worse by over 2 (worst)",
        "intervals held",
    ]
    return markdown(header, body)


MADE = (
    pick_coverage,
    pick_probe,
    pick_scale,
    copies,
    copies_by_chance,
    copies_time,
    copies_neighbours,
    labels,
    marks,
    mixed_rows,
    mixed_rows_reasons,
    mixed_rows_time,
    picture_regions,
    picture_regions_choices,
    picture_regions_marks,
    findings_cells,
    findings_planted,
    findings_peers,
)
