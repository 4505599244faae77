# Shared by the scripts beside it: where the checkout is, and the README's two commands.
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# The one line of the README that installs and runs $1 (`pytest` or `stepwell demo`).
readme_command() {
    local found
    found=$(grep -E "^[[:blank:]]*python3 -m venv .*$1[[:blank:]]*$" "$checkout/README.md" | sed 's/^[[:blank:]]*//' || true)
    [[ -n $found && $found != *$'\n'* ]] || die "README.md has no single line 'python3 -m venv … $1'"
    printf '%s\n' "$found"
}
