#!/bin/sh
# The notebook of README.md: its script, its commands and what they print are as
# shown there. A program that serves a page stands for Jupyter.
# shellcheck disable=SC2119

. "$top_srcdir/tests/e2e/jobs.sh"
. "$top_srcdir/tests/e2e/forward.sh"

# Prints the lines of the block, without its indentation.
block()
{
	sed -n '/^    \$ cat notebook.sh$/,/^$/s/^    //p' "$top_srcdir/README.md"
}

# PROGRAM: prints the block's line that runs it
line()
{
	block | sed -n "s/^\\\$ \($1 .*\)/\1/p"
}

# LINE: prints its command
command_of()
{
	echo "${1%%#*}" | sed 's/ *$//'
}

# LINE: prints what it says in its comment
comment_of()
{
	echo "${1#*\# }"
}

python=$(command -v python3) || skip_all "python3 is not installed"
number=$(free_port)
mkdir -p "$dir/bin" "$dir/page" "$dir/home"
cat >"$dir/bin/jupyter" <<END
#!/bin/sh
# Serves, like Jupyter, at the address and port that the options name.
[ "\$1 \$2" = "lab --no-browser" ] || exit 2
for word; do
	case \$word in
	--ip=*) ip=\${word#*=} ;;
	--port=*) port=\${word#*=} ;;
	esac
done
echo "http://\$ip:\$port/lab?token=secret"
exec "$python" -m http.server --bind "\$ip" --directory "$dir/page" "\$port"
END
chmod +x "$dir/bin/jupyter"
echo "a notebook" >"$dir/page/lab"
PATH=$dir/bin:$PATH
export PATH

# shellcheck disable=SC2016 # sed matches these
queue=$(tr '\n' ' ' <"$top_srcdir/README.md" |
	sed -n 's/.*`\(queue notebooks {[^`]*}\)`.*/\1/p')
like "the queue is shown" "$queue" "class = interactive"
stop_daemon
configure "
queue default { grace = \"1s\" }
$queue
node \"$(uname -n)\" { gpus = 1 }"
start_daemon || bail "aischedd does not start"

# --- the commands ---------------------------------------------------------------

cd "$dir/home" || exit 1
block | sed -n '/^\$ cat notebook.sh$/,/^\$ aisub/{/^\$/!p}' |
	sed "s/8888/$number/" >notebook.sh
like "the script is shown" "$(sed -n 1p notebook.sh)" '^#!/bin/sh$'
submitted=$(line aisub)
run sh -c "$(command_of "$submitted")"
job=${out##* }
is "it is submitted" "$out" \
	"$(comment_of "$submitted" | sed "s/[0-9]*\$/$job/")"
ok "it runs" wait_for is_state "$job" RUNNING
is "in the queue of notebooks, with a GPU" \
	"$(aiq -h -o queue,gpus,class "$job" | xargs)" "notebooks 1 interactive"
like "its port has a name" "$(aiq "$job" | grep ports)" "jupyter .* $number\$"

logged=$(line aiq)
like "a line shows how to find the link" "$(comment_of "$logged")" "the link"
shows_link()
{
	sh -c "$(command_of "$logged" | sed "s/12\$/$job/")" |
		grep -q "^http://127.0.0.1:$number/lab?token=secret"
}
ok "it does" wait_for shows_link

works()
{
	printf 'GET /lab HTTP/1.0\r\n\r\n' | "$port" call "$number" |
		grep -q "a notebook"
}
ok "the link works on this machine" wait_for works
# Here Jupyter has that port already, so another one is forwarded to it.
forwarded=$(command_of "$(line aictl)")
is "a line forwards the port by its name" "$forwarded" \
	"aictl forward 12 jupyter"
fails "which is taken here" 1 "':jupyter' takes a free port" \
	timeout "$deadline_s" aictl forward "$job" "${forwarded##* }"
ok "a free one is forwarded to it" forward "$job" "${forwarded##* }"
is "and says so, as shown" "$(cat "$dir/forward.out")" \
	"$(comment_of "$(line aictl)" |
		sed "s/8888 is port 8888 of job 12\$/$at is port $number of job $job/")"
answers()
{
	printf 'GET /lab HTTP/1.0\r\n\r\n' | call | grep -q "a notebook"
}
ok "the notebook answers" wait_for answers
unforward

aicancel --wait "$job"

done_testing
