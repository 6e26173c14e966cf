"""The data source `odradek` for PySpark. Only here is PySpark imported."""
