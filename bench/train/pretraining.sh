#!/usr/bin/env bash
# What several sessions and masked spikes are worth: test R² on recordings.
#   bench/train/pretraining.sh RECORDINGS OUT
# RECORDINGS is a folder of NWB files, OUT takes a folder a run and table.md.
# A run whose report is there is not repeated.
#   BETZ=build/bin/betz  DEVICE=cpu  SEEDS="0 1 2"  RECIPE=  STEPS=  PRETRAIN=2000
#   PARTS="labels sessions day"
set -euo pipefail

recordings=${1:?folder of recordings}
out=${2:?folder for runs}
betz=${BETZ:-build/bin/betz}
pretrain=${PRETRAIN:-2000}
parts=${PARTS:-labels sessions day}
mkdir -p "$out"

# run NAME SEED RECORDINGS... -- OPTIONS...
run() {
  local folder=$out/$1.seed$2 seed=$2 files=()
  shift 2
  while [[ $1 != -- ]]; do
    files+=("$recordings/$1.nwb")
    shift
  done
  shift
  [[ -f $folder/report.json ]] && return
  local resume=()
  compgen -G "$folder/*/step-*" "$folder/pretrain/*/step-*" > /dev/null &&
    resume=(--resume)
  echo "$folder" >&2
  "$betz" train ${RECIPE:+"$RECIPE"} --nwb "${files[@]}" -o "$folder" \
    --seed "$seed" --device "${DEVICE:-cpu}" --skip-gru \
    ${STEPS:+--steps "$STEPS"} "${resume[@]}" "$@" > "$folder.txt"
}

days=(chewie_20131003_100ms chewie_20131219_100ms mihi_20140303_100ms)
for seed in ${SEEDS:-0 1 2}; do
  if [[ $parts == *labels* ]]; then
    for file in monkey_reach_20ms chewie_20131003_50ms; do
      run "labels.$file.all" "$seed" "$file" --
      run "labels.$file.tenth" "$seed" "$file" -- --label-fraction 0.1
      run "labels.$file.tenth_pretrained" "$seed" "$file" -- \
        --label-fraction 0.1 --pretrain-steps "$pretrain"
    done
  fi
  if [[ $parts == *sessions* ]]; then
    run sessions.together "$seed" "${days[@]}" --
    for file in "${days[@]}"; do
      run "sessions.$file" "$seed" "$file" --
    done
  fi
  if [[ $parts == *day* ]]; then
    run day.trunk "$seed" "${days[0]}" "${days[2]}" --
    trunk=$out/day.trunk.seed$seed/decoder.safetensors
    run day.scratch "$seed" "${days[1]}" -- --labelled-trials 20
    run day.tuned "$seed" "${days[1]}" -- --labelled-trials 20 \
      --weights "$trunk"
    run day.frozen "$seed" "${days[1]}" -- --labelled-trials 20 \
      --weights "$trunk" --freeze trunk
  fi
done
python3 "$(dirname "$0")/table.py" "$out" | tee "$out/table.md"
