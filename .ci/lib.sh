# Shared by the scripts of this folder; sourced by bash.
set -euo pipefail
unset PYTHONDONTWRITEBYTECODE # where it is set, every process compiles every module and rewrites every assertion anew
export PIP_DISABLE_PIP_VERSION_CHECK=1

section() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

# The commands of a fenced block of the README: ```sh KIND
commands() { awk -v kind="$1" '$0 == "```sh " kind {on = 1; next} /^```/ {on = 0} on' README.md; }

# A copy of what git tracks or would track, without what is ignored.
copied_to() {
  git ls-files -z --cached --others --exclude-standard | xargs -0 -I{} sh -c '[ -e "$1" ] && printf "%s\0" "$1"' _ {} |
    tar --null --files-from - -cf - | tar -xf - -C "$1"
}
