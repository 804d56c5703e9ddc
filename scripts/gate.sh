#!/usr/bin/env bash
# Measures two sides in turns, base and pull request, and fails if the second is too much worse. Each side is a URL with
# commands before and after its runs. action.yml runs it for a pull request; it runs the same on your own machine.
#
# usage: scripts/gate.sh --base-url URL [--pr-url URL] --fail-if CONDITION... [FLAG VALUE]...
#   --base-url, --pr-url        databases; one for both is enough (a password is best in LYDITE_PASSWORD)
#   --base-before, --pr-before  shell commands before each run of a side, which start its database
#   --base-after, --pr-after    shell commands after each run, also if it or its `before` failed, and after a signal
#   --fail-if CONDITION         as for `lydite compare`: 'nopm < -5%'; may be repeated
#   --undecided fail|pass       end of a condition that the runs do not decide [default: exit code 5]
#   --pairs N                   runs of each side [default: 3]
#   --run-flags TEXT            flags of `lydite run`, quoted as in a shell
#   --out DIR                   results, comparison and summary, new or empty [default: gate]
#   --name TEXT                 name of the gate: several of a pull request have comments of their own [default: gate]
#   --comment NUMBER            write the summary as a comment of this pull request, by `gh`; later runs replace it
#
# LYDITE names the program [default: lydite]. GITHUB_REPOSITORY names the repository of the pull request. The exit code
# is that of the first run that failed, else that of `lydite compare`. `gh` takes the token of GH_TOKEN or GITHUB_TOKEN;
# no other command gets it. With GITHUB_OUTPUT, directory and exit code are outputs of the step.
set -euo pipefail

# Commands of a pull request are written by whoever opened it.
token=${GH_TOKEN:-${GITHUB_TOKEN:-}}
unset GH_TOKEN GITHUB_TOKEN GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN

LYDITE=${LYDITE:-lydite}
declare -A url=() before=() after=()
conditions=() compare_flags=() run_flags=() pairs=3 out=gate name=gate comment=''

fail() {
    echo "error: $*" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        sed -n '2,/^set /{/^# \{0,1\}/s///p}' "$0"
        exit
        ;;
    esac
    [ $# -ge 2 ] || fail "$1: needs a value"
    case $1 in
    --base-url) url[base]=$2 ;;
    --pr-url) url[pr]=$2 ;;
    --base-before) before[base]=$2 ;;
    --pr-before) before[pr]=$2 ;;
    --base-after) after[base]=$2 ;;
    --pr-after) after[pr]=$2 ;;
    --fail-if) conditions+=(--fail-if "$2") ;;
    --undecided) compare_flags+=(--undecided "$2") ;;
    --pairs) pairs=$2 ;;
    --run-flags) run_flags_text=$2 ;;
    --out) out=$2 ;;
    --name) name=$2 ;;
    --comment) comment=$2 ;;
    *) fail "no flag $1: scripts/gate.sh --help lists them" ;;
    esac
    shift 2
done
[ -n "${url[base]:-}" ] || fail "name the database: --base-url URL"
[ ${#conditions[@]} -gt 0 ] || fail "name what is too bad: --fail-if 'nopm < -5%'"
[[ $pairs =~ ^[1-9][0-9]*$ ]] || fail "--pairs $pairs: a number from 1"
[[ $name =~ ^[A-Za-z0-9._-]+$ ]] || fail "--name $name: letters, digits, dots, dashes and underscores only"
[[ -z $comment || $comment =~ ^[0-9]+$ ]] || fail "--comment $comment: the number of a pull request"
[ -n "${url[pr]:-}" ] || url[pr]=${url[base]}
if [ -n "${run_flags_text:-}" ]; then
    # xargs undoes quotes, and expands nothing.
    words=$(xargs -r -n 1 printf '%s\n' <<<"$run_flags_text" && echo end) ||
        fail "--run-flags: a quote is open"
    mapfile -t run_flags <<<"$words"
    # "end" keeps an empty last word, and no words are none.
    unset 'run_flags[-1]'
fi
mkdir -p "$out"
[ -z "$(ls -A "$out")" ] || fail "$out is not empty: name a new directory by --out"

# Runs gh, with the token if there is one.
with_token() {
    if [ -n "$token" ]; then
        GH_TOKEN=$token gh "$@"
    else
        gh "$@"
    fi
}

# Writes a summary as the comment, if one is wanted, or replaces that of an earlier run: write_comment FILE. A token that
# may not write is no fault of the pull request.
write_comment() {
    [ -n "$comment" ] || return 0
    local mark="<!-- lydite: $name -->" file=$out/comment.md place=repos/${GITHUB_REPOSITORY:-}/issues there me
    # GitHub takes 65536 characters. A cut within a line could leave half a character.
    {
        printf '%s\n' "$mark"
        LC_ALL=C awk '(bytes += length($0) + 1) > 60000 { print "\nThe rest is in summary.md."; exit } 1' "$1"
    } >"$file"
    if [ -z "${GITHUB_REPOSITORY:-}" ]; then
        echo "warning: no comment: GITHUB_REPOSITORY does not name the repository" >&2
        return
    fi
    # Anybody can write a comment that starts with the mark. Only the list has the [bot] of an app's name for sure.
    if ! me=$(with_token api graphql -f 'query={viewer{login}}' --jq .data.viewer.login) ||
        ! there=$(with_token api --paginate "$place/$comment/comments" --jq ".[] |
            select((.user.login == \"$me\" or .user.login == \"${me}[bot]\") and
                (.body | startswith(\"$mark\"))) | .id"); then
        echo "warning: no comment: those of the pull request could not be listed; $1 has the summary" >&2
        return
    fi
    there=${there%%$'\n'*}
    if [ -n "$there" ]; then
        with_token api --silent --method PATCH "$place/comments/$there" -F "body=@$file" && return
    else
        with_token api --silent --method POST "$place/$comment/comments" -F "body=@$file" && return
    fi
    echo "warning: the comment could not be written; $1 has the summary" >&2
}

# Ends the gate without a comparison: stopped CODE WHY
stopped() {
    printf '### Benchmark: no comparison\n\n%s\n' "$2" >"$out/summary.md"
    [ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$out/summary.md" >>"$GITHUB_STEP_SUMMARY"
    write_comment "$out/summary.md"
    echo "error: $2" >&2
    exit "$1"
}

# The side whose `before` has begun and whose `after` has not.
open=''
# Runs the command after a run of the open side, if there is one.
close_side() {
    local side=$open
    open=''
    [ -z "$side" ] || [ -z "${after[$side]:-}" ] || bash -euo pipefail -c "${after[$side]}"
}
# The command that runs now, as a process group.
child=''
# Runs a command and waits for it: run_child COMMAND... Not in the foreground, where bash looks at a signal only after
# the command has ended.
run_child() {
    local code=0
    set -m
    "$@" </dev/null &
    child=$!
    set +m
    wait "$child" || code=$?
    child=''
    return "$code"
}

# Passes a signal on to the command that runs, waits for it, and ends the script through exit, so that no database stays
# behind: on_signal NAME CODE
on_signal() {
    if [ -n "$child" ]; then
        kill -s "$1" -- "-$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    fi
    exit "$2"
}
# Closes the open side, and writes the outputs of the step: on_exit CODE
on_exit() {
    close_side || true
    [ -z "${GITHUB_OUTPUT:-}" ] || printf 'directory=%s\ncode=%s\n' "$out" "$1" >>"$GITHUB_OUTPUT"
}
trap 'on_exit $?' EXIT
trap 'on_signal HUP 129' HUP
trap 'on_signal INT 130' INT
trap 'on_signal TERM 143' TERM

# Runs a side once: run_side SIDE NUMBER
run_side() {
    local side=$1 number=$2 code=0 closed=0
    echo "==> pair $number of $pairs: $side"
    open=$side
    if [ -n "${before[$side]:-}" ] && ! run_child bash -euo pipefail -c "${before[$side]}"; then
        close_side || true
        stopped 3 "The command before run $number of $side failed."
    fi
    run_child "$LYDITE" run "${url[$side]}" --label "$side" --json "$out/$side$number.json" --quiet \
        ${run_flags[@]+"${run_flags[@]}"} || code=$?
    close_side || closed=$?
    [ "$code" -eq 0 ] || stopped "$code" "Run $number of $side ended with exit code $code; the log of the job says why."
    [ "$closed" -eq 0 ] || stopped 3 "The command after run $number of $side failed."
}

for ((number = 1; number <= pairs; number++)); do
    # A B, B A, A B: a drift of the machine then cancels out.
    order=(base pr)
    [ $((number % 2)) -eq 1 ] || order=(pr base)
    for side in "${order[@]}"; do
        run_side "$side" "$number"
    done
done

code=0
"$LYDITE" compare --a "$out/base*.json" --b "$out/pr*.json" "${conditions[@]}" ${compare_flags[@]+"${compare_flags[@]}"} \
    --json "$out/compare.json" --junit "$out/compare.xml" --summary "$out/summary.md" --badge "$out/change.svg" \
    ${GITHUB_ACTIONS:+--github} || code=$?
[ -s "$out/summary.md" ] || stopped "$code" "The comparison ended with exit code $code; the log of the job says why."
write_comment "$out/summary.md"
exit "$code"
