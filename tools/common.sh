# SPDX-License-Identifier: Apache-2.0
# What ./headway, ./check and .ci/run share. Sourced by bash; $root is the checkout.
# shellcheck shell=bash

say() { printf 'headway: %s\n' "$*" >&2; }

# As many compiler processes as there are cores, but one per GiB of free memory at most.
job_count() {
  local cores free_gib
  cores=$(nproc 2>/dev/null || echo 2)
  free_gib=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo 2>/dev/null)
  free_gib=$((${free_gib:-4194304} / 1048576))
  [ "$free_gib" -ge 1 ] || free_gib=1
  echo $((cores < free_gib ? cores : free_gib))
}

# One builder at a time in one build folder: waits for the lock, which the caller's shell holds until it ends.
take_lock() {
  exec 9>"$1" || { say "cannot write to $(dirname "$1"); make this checkout writable for you."; return 1; }
  flock -n 9 && return 0
  say "another process is building here; waiting for it"
  flock 9
}

# Shows ninja's output as a counter (a line that overwrites itself on a terminal, else a line every five seconds);
# everything is in the log, and what failed is shown whole by the caller.
show_build() {
  local line done total shown=-5 what=$1
  SECONDS=0
  while IFS= read -r line; do
    case "$line" in
      \[[0-9]*/[0-9]*\]*)
        done=${line#[}; total=${done#*/}; done=${done%%/*}; total=${total%%]*}
        if [ -t 2 ]; then printf '\r\033[Kheadway: building %s, %d of %d' "$what" "$done" "$total" >&2
        elif [ $((SECONDS - shown)) -ge 5 ] || [ "$done" = "$total" ]; then
          shown=$SECONDS; say "building $what, $done of $total"
        fi ;;
    esac
  done
  [ -t 2 ] && printf '\r\033[K' >&2
  return 0
}

# Configures a preset (from scratch where the checkout was moved) and builds these targets (none: all).
build_preset() {
  local preset=$1 what=$2 fresh="" log cache
  shift 2
  log=$root/build/$preset.log
  cache=$root/build/$preset/CMakeCache.txt
  if [ -e "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then fresh=--fresh; fi
  if ! (cd "$root" && cmake --preset "$preset" $fresh) >"$log" 2>&1 </dev/null; then
    say "cmake could not configure the build:"
    sed -n '/CMake Error/,$p' "$log" | head -30 >&2
    return 1
  fi
  NINJA_STATUS='[%f/%t] ' ninja -C "$root/build/$preset" -j "$(job_count)" "$@" 2>&1 </dev/null | tee -a "$log" |
    show_build "$what"
  if [ "${PIPESTATUS[0]}" != 0 ]; then
    say "the build failed:"
    sed -n '/^FAILED/,/^\[/p' "$log" | head -60 >&2
    say "the whole output is in $log"
    return 1
  fi
}
