"""Show one or two uses of every command, at the end of its --help; a test runs the parser on each of them."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "fit": (
        "centrality fit houses.csv -o houses.safetensors",
        "centrality fit sensor.csv -o sensor.safetensors --represent series:value --window 60",
    ),
    "score": (
        "centrality score houses.safetensors houses.csv -o scores.csv --t 0,0.5,1 --explain",
        "centrality score houses.safetensors rows/ -o scores/ --resume --workers 4",
    ),
    "rank": ("centrality rank houses.csv --top 10", "centrality rank houses.safetensors new.csv --by district"),
    "detect": (
        "centrality detect houses.safetensors new.csv --fdr 0.05",
        "centrality detect houses.safetensors new.csv --false-positives 10 -o outliers.csv",
    ),
    "explain": (
        "centrality explain houses.csv",
        "centrality explain houses.safetensors houses.csv --rows 3,7",
    ),
    "pick": (
        "centrality pick houses.csv --diverse 100 -o picked.csv",
        "centrality pick houses.safetensors houses.csv --typical 10 --by district",
    ),
    "copies": (
        "centrality copies houses.csv",
        "centrality copies photos/ -o copies.csv",
    ),
    "refine": ("centrality refine houses.safetensors houses.csv --marks houses.houses.marks.csv -o wiser.safetensors",),
    "labels": ("centrality labels photos.parquet --by species -o doubtful.csv",),
    "drift": (
        "centrality drift houses.safetensors new.csv --window 500 --plot drift.png",
        "centrality drift last_year.csv this_year.csv",
    ),
    "depth": ("centrality depth halfspace wine -o depths.csv --columns alcohol,hue", "centrality depth --list"),
    "plot": ("centrality plot map houses.safetensors houses.csv -o map.png",),
    "explore": (
        "centrality explore houses.csv",
        "centrality explore houses.safetensors houses.csv --export page.html",
    ),
    "inspect": ("centrality inspect houses.safetensors",),
    "export": ("centrality export wine.safetensors -o wine.onnx",),
    "serve": ("centrality serve houses.safetensors --port 8000",),
    "datasets": ("centrality datasets", "centrality datasets houses -o houses.csv"),
    "demo": ("centrality demo -o demo/",),
    "reproduce": ("centrality reproduce table1 --quick",),
    "completion": ("centrality completion bash >> ~/.bashrc",),
    "version": ("centrality version",),
}
