#!/usr/bin/env bash
# Times Betz beside PyTorch on one NVIDIA GPU in one run: single ops and models.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: compare_gpu.sh --betz FILE --cases FOLDER [options]

Prints a table of microseconds, losses beside wins. What cannot run is named with
the reason and left out. Parts, in this order:

  gather     sums of three tables' rows, 512 wide: 256 windows x 2048 events, one
  norm       RMSNorm and a product, M 8192, K 512, N 1536 and 2048
  attention  32 x 8 heads, 256 queries, 2048 events: all, a random map of blocks,
             a reach of a quarter; beside dense SDPA
  dram       bytes from and to memory in a step of S, 32 windows, with and without
             absorb-norm, by ncu
  models     steps of S at 1, 16, 64, 256 windows, XS and M at 1 and 64, beside
             bench_torch.py under CUDA graph replay

An op's time is that of one among 20 inside a graph: for Betz the difference of
two steps, whose programs differ in 20 kernels; for PyTorch a graph of 20. A
model's is of a whole step, for Betz with its copies from and to the host.

  --betz FILE      the executable with the compiler; it needs NVRTC
  --cases FOLDER   what gpu/prepare.py wrote
  --peers FOLDER   bench_torch.py and perceiver_torch.py
  --device cuda|cpu
                   cpu, with cases for it, only shows that the ops run (default cuda)
  --parts A,B      (default all)
  --limit SECONDS  stop starting anything then (default 400)
  --json FILE      write all rows to FILE

Cases: python3 bench/gpu/prepare.py --betz build/bin/betz \
         --betz-opt build/bin/betz-opt -o cases
HELP
}

say() { printf 'compare_gpu: %s\n' "$*" >&2; }
die() { say "error: $*"; exit 2; }

betz='' cases='' peers='' device=cuda json='' limit=400
parts=gather,norm,attention,dram,models
while [ $# -gt 0 ]; do
  case $1 in
  -h | --help)
    usage
    exit 0
    ;;
  --betz | --cases | --peers | --device | --parts | --limit | --json)
    [ $# -ge 2 ] || die "$1 needs a value"
    case $1 in
    --betz) betz=$2 ;;
    --cases) cases=$2 ;;
    --peers) peers=$2 ;;
    --device) device=$2 ;;
    --parts) parts=$2 ;;
    --limit) limit=$2 ;;
    --json) json=$2 ;;
    esac
    shift 2
    ;;
  *) die "$1: no such option, see --help" ;;
  esac
done
[ -x "$betz" ] || die "--betz '$betz' is no executable"
[ -f "$cases/cases.json" ] || die "--cases '$cases' has no cases.json; make it with gpu/prepare.py"
command -v python3 >/dev/null || die "python3 is not installed"
case $device in cpu | cuda) ;; *) die "--device $device: cuda or cpu" ;; esac
for part in ${parts//,/ }; do
  case $part in
  gather | norm | attention | dram | models) ;;
  *) die "--parts $part: no such part, see --help" ;;
  esac
done
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rows=$scratch/rows
: >"$rows"

wants() { case ",$parts," in *",$1,"*) ;; *) return 1 ;; esac; }
left() { echo $((limit - SECONDS)); }
# The value or values of cases.json under these keys.
ofCases() { # KEY...
  python3 - "$cases/cases.json" "$@" <<'READ'
import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2:]:
    value = value[key]
print(*value if isinstance(value, list) else [value])
READ
}
target=$(ofCases target) repeats=$(ofCases repeats)
case $target in
"$device"*) ;;
*) die "--cases '$cases' are for $target, not for --device $device" ;;
esac

# Appends what a command prints, JSON lines, to the rows.
collect() { # LABEL COMMAND...
  local label=$1 status=0
  shift
  if (($(left) < 1)); then
    say "$label: skipped, the $limit s are over"
    return
  fi
  say "$label"
  "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  cat "$scratch/out" >>"$rows"
  grep '^ops_torch.py:' "$scratch/err" >&2 || true
  [ $status = 0 ] || say "$label: $(tail -n 1 "$scratch/err")"
}

compileOnce() { # MODEL BATCHES EVENTS
  program=$scratch/$(basename "$1").$2.betz
  [ -f "$program" ] ||
    "$betz" compile "$1" --target "$target" --batch "$2" --max-events "$3" \
      -o "$program" >"$scratch/compile" 2>&1 || { cat "$scratch/compile" >&2 && return 1; }
}

stepUs() { # PROGRAM BENCH_ARGUMENTS...
  "$betz" bench "$1" --device "$device" --steps-only --min-time 0.4 \
    --json "$scratch/report" "${@:2}" >/dev/null || return
  python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["steps"][0]["median_us"])' "$scratch/report"
}

# A line for one op: how much longer a step takes with its kernel's repeats.
betzOp() { # OP CASE SECTION COMPILE_BATCHES COMPILE_EVENTS BENCH_ARGUMENTS...
  local one many
  compileOnce "$cases/$1.mlir" "$4" "$5" || return
  one=$(stepUs "$program" "${@:6}") || return
  compileOnce "$cases/$1.$3.mlir" "$4" "$5" || return
  many=$(stepUs "$program" "${@:6}") || return
  python3 - "$1" "$2" "$3" "$one" "$many" "$repeats" "$cases/cases.json" <<'LINE'
import json, sys
op, case, section, one, many, repeats, cases = sys.argv[1:]
us = (float(many) - float(one)) / int(repeats)
counts = json.load(open(cases))[op].get("sections", {}).get(section, {})
print(json.dumps({"peer": "betz", "op": op, "case": case, "mode": "betz",
                  "ms": round(us / 1e3, 5), **counts}))
LINE
}

torchReason=$(python3 -c 'import torch' 2>&1 >/dev/null | grep Error | tail -n 1 || true)
[ -z "$torchReason" ] || say "PyTorch: $torchReason"
torchOps() { # OP
  [ -n "$torchReason" ] || collect "PyTorch, $1" python3 "$here/peers/ops_torch.py" \
    --cases "$cases/cases.json" --ops "$1" --device "$device"
}

gatherPart() {
  local windows events buckets
  windows=$(ofCases gather_sum windows)
  events=$(ofCases gather_sum events)
  buckets=$(tr ' ' '\n' <<<"$windows" | sort -n | paste -sd,)
  for batch in $windows; do
    collect "Betz, gather_sum, $batch windows" betzOp gather_sum \
      "$batch x $events x 512" measured "$buckets" "$events" \
      --batch "$batch" --events "$events"
  done
  torchOps gather_sum
}

normPart() {
  local m
  m=$(ofCases norm_matmul rows)
  for n in $(ofCases norm_matmul columns); do
    collect "Betz, norm_matmul, N $n" betzOp norm_matmul "M $m, K 512, N $n" \
      "n$n" "$m" 1 --batch "$m"
  done
  torchOps norm_matmul
}

attentionPart() {
  local windows events
  windows=$(ofCases attention windows)
  events=$(ofCases attention events)
  for section in dense map reach; do
    collect "Betz, attention, $section" betzOp attention \
      "$windows x 8 heads, L 256, E $events, d 64, $section" "$section" \
      "$windows" "$events" --input "$cases/attention.safetensors"
  done
  torchOps attention
}

# A line for S with or without absorb-norm; the counters' bytes where ncu reads them.
dramLine() { # CASE MODEL
  compileOnce "$2" 32 512 || return
  "$betz" bench "$program" --device "$device" --input "$cases/dram.safetensors" \
    --min-time 0.2 --json "$scratch/report" >/dev/null || return
  : >"$scratch/counters"
  if command -v ncu >/dev/null; then
    ncu --metrics dram__bytes.sum --cache-control none --clock-control none \
      --csv --print-units base --log-file "$scratch/counters" \
      "$betz" run "$program" --device "$device" --input "$cases/dram.safetensors" \
      >/dev/null 2>&1 || say "ncu: $(grep '^==ERROR==' "$scratch/counters" | head -n 1)"
  else
    say "ncu is not installed: no DRAM bytes"
  fi
  python3 - "$1" "$scratch/report" "$scratch/counters" <<'LINE'
import csv, json, sys
case, report, counters = sys.argv[1:]
step = json.load(open(report))["steps"][0]
lines = [line for line in open(counters) if line.startswith('"')]
values = [float(row["Metric Value"].replace(",", "")) for row in csv.DictReader(lines)
          if row["Metric Name"] == "dram__bytes.sum"]
print(json.dumps({"peer": "betz", "op": "dram", "case": case,
                  "ms": round(step["median_us"] / 1e3, 5),
                  "kernels": sum(k["calls"] for k in step["kernels"]),
                  "operand_bytes": sum(k["bytes"] for k in step["kernels"]),
                  **({"dram_bytes": sum(values), "counted_kernels": len(values)}
                     if values else {})}))
LINE
}

dramPart() {
  collect "S with absorb-norm" dramLine with "$here/../frontend/models/cortex-s.toml"
  collect "S without absorb-norm" dramLine without "$cases/norms_apart.mlir"
}

betzModel() { # MODEL BATCHES BATCH
  local us
  compileOnce "$here/../frontend/models/cortex-$1.toml" "$2" 512 || return
  us=$(stepUs "$program" --batch "$3" --events 512) || return
  printf '{"peer": "betz", "op": "%s", "case": "%s windows", "mode": "betz", "ms": %s}\n' \
    "${1^^}" "$3" "$(python3 -c "print($us / 1e3)")"
}

torchModel() { # MODEL BATCHES
  python3 "$peers/bench_torch.py" --device "$device" --mode graph --dtype bf16 \
    --model "${1^^}" --batch "$2" --events 512 | python3 -c 'import json, sys
for line in sys.stdin:
    row = json.loads(line)
    print(json.dumps({**row, "op": row["model"], "case": "{} windows".format(row["batch"]),
                      "mode": "eager+graph"}))'
}

modelsPart() {
  local reason=$torchReason
  [ -f "$peers/bench_torch.py" ] || reason="no --peers folder with bench_torch.py"
  [ -z "$reason" ] || say "PyTorch's models: $reason"
  for model in s:1,16,64,256 xs:1,64 m:1,64; do
    local name=${model%%:*} batches=${model#*:}
    for batch in ${batches//,/ }; do
      collect "Betz, ${name^^}, $batch windows" betzModel "$name" "$batches" "$batch"
    done
    [ -n "$reason" ] || collect "PyTorch, ${name^^}" torchModel "$name" "$batches"
  done
}

for part in ${parts//,/ }; do
  if [ "$device" = cpu ] && { [ "$part" = dram ] || [ "$part" = models ]; }; then
    say "$part needs a GPU"
    continue
  fi
  "${part}Part"
done

[ -s "$rows" ] || die "nothing ran"
python3 "$here/gpu/table.py" "$rows" ${json:+"$json"}
say "$SECONDS s"
