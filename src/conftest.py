"""Two modules' examples need a cluster: tests/test_distributed.py and tests/test_spark.py run them, where one is."""

collect_ignore = ["centrality/distributed.py", "centrality/spark.py"]
