#!/usr/bin/env bash
# Times Betz, PyTorch and ONNX Runtime on the same two cores in one run.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: compare_cpu.sh --betz-rt FILE --programs FOLDER [options]

Runs on cores 0 and 1 under taskset, 512 events a window, f32. Prints a table
and writes a JSON object a line. A peer that cannot run is named with the
reason and left out.

  --betz-rt FILE       the executable
  --programs FOLDER    xs.betz, s.betz, m.betz with buckets 1 and 8 (those of
                       names cortex-xs.betz and so on too)
  --peers FOLDER       bench_torch.py and perceiver_torch.py
  --models xs,s,m      which models, in this order
  --isas avx2,avx512   levels of Betz's code
  --batches 1,8        windows of a step
  --threads 1,2
  --limit SECONDS      stop starting anything then (default 450)
  --output FILE        JSON lines (default compare_cpu.jsonl)

Programs: betz compile frontend/models/cortex-s.toml --batch 1,8 -o s.betz
HELP
}

say() { printf 'compare_cpu: %s\n' "$*" >&2; }
die() { say "error: $*"; exit 2; }

betzRt='' programs='' peers='' output=compare_cpu.jsonl limit=450
models=xs,s,m isas=avx2,avx512 batches=1,8 threads=1,2
while [ $# -gt 0 ]; do
  case $1 in
  -h | --help)
    usage
    exit 0
    ;;
  --betz-rt | --programs | --peers | --models | --isas | --batches | --threads | \
    --limit | --output)
    [ $# -ge 2 ] || die "$1 needs a value"
    case $1 in
    --betz-rt) betzRt=$2 ;;
    --programs) programs=$2 ;;
    --peers) peers=$2 ;;
    --models) models=$2 ;;
    --isas) isas=$2 ;;
    --batches) batches=$2 ;;
    --threads) threads=$2 ;;
    --limit) limit=$2 ;;
    --output) output=$2 ;;
    esac
    shift 2
    ;;
  *) die "$1: no such option, see --help" ;;
  esac
done
[ -x "$betzRt" ] || die "--betz-rt '$betzRt' is no executable"
[ -d "$programs" ] || die "--programs '$programs' is no folder"
command -v python3 >/dev/null || die "python3 is not installed"
command -v taskset >/dev/null || die "taskset is not installed"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: >"$output"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

pin() { taskset -c 0,1 "$@"; }
pin true 2>/dev/null || die "this process may not use cores 0 and 1"
left() { echo $((limit - SECONDS)); }

# Runs a command that prints JSON lines; those that came in time count.
collect() { # LABEL COMMAND...
  local label=$1 status=0
  shift
  if (($(left) < 1)); then
    say "$label: skipped, the $limit s are over"
    return
  fi
  timeout -k 5 "$(left)" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  cat "$scratch/out" >>"$output"
  case $status in
  0) ;;
  124 | 137) say "$label: stopped, the $limit s are over" ;;
  *) say "$label: $(tail -n 1 "$scratch/err")" ;;
  esac
}

programOf() { # MODEL
  local name
  for name in "$1" "cortex-$1"; do
    if [ -f "$programs/$name.betz" ]; then
      echo "$programs/$name.betz"
      return
    fi
  done
  return 1
}

# betz-rt's report as lines like the peers'.
betzLines() { # MODEL THREADS
  python3 -c '
import json, sys
report, model, threads = json.load(sys.stdin), sys.argv[1], int(sys.argv[2])
for step in report["steps"]:
    print(json.dumps({
        "peer": "betz " + report["isa"], "model": model.upper(),
        "dtype": "f32", "batch": step["batch"],
        "events": step["extents"][1] // step["batch"], "device": "cpu",
        "threads": threads, "ms": round(step["median_us"] / 1e3, 4),
        "peak_fraction": step.get("peak_fraction"),
        "fma_gflops": report["limits"].get("fma_gflops")}))' "$@"
}

runBetz() { # PROGRAM MODEL THREADS ISA BATCH
  local ran
  ran=$(BETZ_CPU_ISA=$4 pin "$betzRt" bench "$1" --batch "$5" --threads "$3" \
    --events 512 --min-time 0.3 --steps-only --json -) || return
  betzLines "$2" "$3" <<<"$ran" |
    grep -F "\"betz $4\"" ||
    { echo "no $4 code for this processor in the program" >&2 && return 1; }
}
export -f runBetz betzLines pin
export betzRt

# The PyTorch peer does not say how many threads it had.
runTorch() { # MODEL THREADS BATCH
  pin python3 "$peers/bench_torch.py" --device cpu --mode eager --dtype f32 \
    --events 512 --model "${1^^}" --threads "$2" --batch "$3" |
    sed -u "s/}\$/, \"threads\": $2}/"
}
export -f runTorch
export peers

# The last line of what importing a package says; nothing when it works.
importError() { # PACKAGE
  python3 -c "import $1" 2>&1 >/dev/null | grep Error | tail -n 1 || true
}

peersReason=''
if [ -z "$peers" ]; then
  peersReason='no --peers folder given'
elif ! [ -f "$peers/perceiver_torch.py" ]; then
  peersReason="no $peers/perceiver_torch.py"
else
  peersReason=$(importError torch)
fi
torchReason=$peersReason ortReason=$peersReason
[ -n "$torchReason" ] || [ -f "$peers/bench_torch.py" ] ||
  torchReason="no $peers/bench_torch.py"
[ -n "$ortReason" ] || ortReason=$(importError onnxruntime)
[ -z "$torchReason" ] || say "PyTorch: $torchReason"
[ -z "$ortReason" ] || say "ONNX Runtime: $ortReason"

# Fast ones first, so that the limit cuts off the slowest; what is compared
# runs one after the other.
for model in ${models//,/ }; do
  program=$(programOf "$model") || {
    say "Betz, $model: no $programs/$model.betz"
    program=''
  }
  for batch in ${batches//,/ }; do
    for count in ${threads//,/ }; do
      label="$model, $batch windows, $count threads"
      if [ -n "$program" ]; then
        for isa in ${isas//,/ }; do
          collect "Betz $isa, $label" bash -o pipefail -c 'runBetz "$@"' _ \
            "$program" "$model" "$count" "$isa" "$batch"
        done
      fi
      [ -n "$torchReason" ] ||
        collect "PyTorch, $label" bash -o pipefail -c 'runTorch "$@"' _ \
          "$model" "$count" "$batch"
      [ -n "$ortReason" ] ||
        collect "ONNX Runtime, $label" taskset -c 0,1 python3 \
          "$here/peers/bench_onnxruntime.py" --model "${model^^}" \
          --definition "$peers/perceiver_torch.py" --threads "$count" \
          --batch "$batch" --events 512 --limit 5
    done
  done
done

python3 - "$output" <<'TABLE'
import json, sys

rows, names = {}, []
for line in open(sys.argv[1]):
    one = json.loads(line)
    name = one["peer"]
    if name not in names:
        names.append(name)
    key = (one["model"], one["batch"], one["threads"])
    rows.setdefault(key, {})[name] = one


def cell(one):
    if one is None:
        return ""
    peak = one.get("peak_fraction")
    return f"{one['ms']:.2f}" + (f" ({100 * peak:.0f}%)" if peak else "")


print("ms a step, in brackets of the cores' multiply-add peak\n")
print("| model | windows | threads | " + " | ".join(names) + " |")
print("|---" * (3 + len(names)) + "|")
for (model, batch, threads), row in rows.items():
    cells = [cell(row.get(name)) for name in names]
    print(f"| {model} | {batch} | {threads} | " + " | ".join(cells) + " |")
TABLE
say "wrote $output, $SECONDS s"
