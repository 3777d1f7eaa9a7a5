"""What `--help` shows below the options: commands as people type them."""

# The mark keeps the lines as they are.
_HEAD = "\b\nExamples:"

FOREBEAR = f"""{_HEAD}
  forebear demo
  forebear check data.csv --target y
  forebear discover data.csv --target y --out run
  forebear report run
  forebear COMMAND --help
"""

DEMO = f"""{_HEAD}
  forebear demo
  forebear demo --out try-it
"""

CHECK = f"""{_HEAD}
  forebear check data.csv
  forebear check plant.csv --target yield --exclude "raw_*" --time timestamp
  forebear check data.csv --target y --json
"""

DISCOVER = f"""{_HEAD}
  forebear discover data.csv --target y --out run
  forebear discover data.csv --target "d*" --candidate "x?" --keep dose --figure graph.png
  forebear discover data.csv --target y --group weather=wind,rain --periodic heading=360
  forebear discover plant.csv --target y --rows machine
  forebear discover plant.csv --target y --exclude "raw_*" --time timestamp
  forebear discover walk.csv --lags 9 --state theta --action u --episode id --periodic theta=6.2832
  forebear discover big.csv --target y --runs 10 --jobs 2 --out run --resume
  forebear discover data.csv --target y --json > found.json
  forebear discover data.csv --target y --table found.parquet
"""

SAMPLE = f"""{_HEAD}
  forebear sample run --given rows.csv --n 1000 --out draws.parquet
  forebear sample run --given rows.csv --n 1
"""

MONITOR = f"""{_HEAD}
  forebear monitor run --data new.csv
  forebear monitor twin --data new.csv --json > monitored.json
  forebear monitor run --data new.csv --out monitored.html --prometheus forebear.prom
"""

UPDATE = f"""{_HEAD}
  forebear update run --data new.csv
  forebear update twin --data new.csv --since 401 --json > updated.json
  forebear update twin --versions
  forebear update twin --roll-back 1
"""

REPORT = f"""{_HEAD}
  forebear report run
  forebear report run --out report.html --held-out new.csv
  forebear report run --no-laws
"""

EXPORT = f"""{_HEAD}
  forebear export run twin.fmu
  forebear export run twin.fmu --fmi 2.0 --step 0.05
  forebear export twin twin.c
  forebear export twin twin.onnx
"""

SERVE = f"""{_HEAD}
  forebear serve run
  forebear serve runs/pump runs/fan --port 8000 --token-file token.txt --no-browser
  forebear serve run --max-rows 100 --queue 16 --reload
"""

STUDIO = f"""{_HEAD}
  forebear studio
  forebear studio --out plant --folder /data/plant --folder ~/tables
  forebear studio --port 0 --no-browser
"""
