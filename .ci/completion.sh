# Loads each completion script in its shell and asks it to complete `exhibit loo`.
set -euo pipefail
scripts="$(mktemp -d)"
trap 'rm -rf "$scripts"' EXIT
for shell in bash zsh fish powershell; do
	exhibit completion "$shell" >"$scripts/$shell"
done

got="$(bash -c 'source "$1"; COMP_WORDS=(exhibit loo); COMP_CWORD=1; _exhibit; printf "%s\n" "${COMPREPLY[@]}"' bash "$scripts/bash")"
[ "$got" = lookup ] || { printf 'bash completes loo to: %s\n' "$got"; exit 1; }
echo 'bash: lookup'

got="$(fish -c "source $scripts/fish; complete -C 'exhibit loo'")"
case "$got" in lookup*) echo 'fish: lookup' ;; *) printf 'fish completes loo to: %s\n' "$got"; exit 1 ;; esac

got="$(zsh -f -c 'compdef() { :; }; compadd() { shift $(($# - 1)); printf "%s\n" "$1"; }; source "$1"; words=(exhibit loo); CURRENT=2; _exhibit' zsh "$scripts/zsh")"
case "$got" in *lookup*) echo 'zsh: lookup' ;; *) printf 'zsh completes loo to: %s\n' "$got"; exit 1 ;; esac
