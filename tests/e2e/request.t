#!/bin/sh
# Requests written by hand: which fields each of them may have, of which kind.
# shellcheck disable=SC2119 # start_daemon takes options

. "$top_srcdir/tests/e2e/jobs.sh"

ask()
{
	"$top_builddir/tests/e2e/ask" "$@" </dev/null
}

"$top_builddir/tests/e2e/ask" --ops >ops
while read -r op _; do
	is "$op refuses fields it does not know" "$(ask "{\"op\": \"$op\", \"nosuch\": 1}")" \
		"refused: request '$op' has no field 'nosuch'"
done <ops

# OP FIELD KIND: tests that OP refuses the value in FIELD, because it must be of
# that kind
must_be()
{
	is "$1 takes $2 for what it is" "$(ask "{\"op\": \"$1\", $2}")" \
		"refused: field '$(echo "$2" | cut -d'"' -f2)' of request '$1' must be $3"
}

texts='a list of at most 10000 texts'
must_be cancel '"signal": "9"' 'a whole number'
must_be cancel '"all": "no"' 'true or false'
must_be cancel '"users": "root"' "$texts"
must_be cancel '"users": [1]' "$texts"
must_be jobs '"since": "now"' 'a whole number'
must_be jobs '"names": null' "$texts"
must_be update '"set": {"nice": 1}' 'an object of texts'
must_be submit '"specs": [1]' 'a list of objects'
must_be log '"id": 1' 'a text'
echo "{\"op\": \"wait\", \"ids\": [$(seq -s, 10001 | sed 's/[0-9]*/"&"/g')]}" >many
is "a list has so many texts" "$(ask @many)" \
	"refused: field 'ids' of request 'wait' must be $texts"

done_testing
