#!/bin/sh
# Mails about jobs: which are sent, to whom, once, and despite failures.
# shellcheck disable=SC2016,SC2119 # wait_for expands; configure has a default

. "${top_srcdir:=.}/tests/e2e/jobs.sh"

me=$(id -un)
mkdir "$dir/box"
# A fake sendmail that stores mails in $dir/box, or fails as $dir/mode says.
cat >"$dir/sendmail" <<-END
	#!/bin/sh
	echo "\$*" >"$dir/args"
	case \$(cat "$dir/mode") in
	fail) echo "no route" >&2; exit 75 ;;
	hang) echo \$\$ >>"$dir/hung"; exec sleep 1000 ;;
	esac
	part=\$(mktemp "$dir/box/XXXXXX") && cat >"\$part" &&
		mv "\$part" "\$part.mail"
END
chmod 755 "$dir/sendmail"
echo good >"$dir/mode"

# [KEYS]: configures this sendmail, with these keys of the section
mailing()
{
	configure "$default_config
cron { min_period = 1s }
mail { command = \"$dir/sendmail\"  $* }"
}

# N PATTERN: whether N lines of all mails match
got()
{
	[ "$(cat "$dir"/box/*.mail 2>/dev/null | grep -c -e "$2")" = "$1" ]
}

# PATTERN: prints the last mail with a line that matches
mail_of()
{
	grep -l -e "$1" "$dir"/box/*.mail | tail -n 1 | xargs cat
}

# Sends one more mail and waits for it. Mails to the same recipient are sent in
# order, so all earlier ones are there, too.
sentinel()
{
	last=$(submit -J sentinel --mail-type END --wrap true)
	wait_for got 1 "Job_id=$last Name=sentinel Ended"
}

sql()
{
	sqlite3 "$dir/state/aisched.db" "$1"
}

# Prints how many mails are waiting, were sent, failed and were dropped,
# according to the metrics.
counted()
{
	aictl metrics | sed -n 's/^aisched_mail_[^ ]* //p' | xargs
}

# --- requests ---------------------------------------------------------------

id=$(submit --mail-type=END --wrap true)
becomes "without a command no mail is sent" "$id" COMPLETED
misuse "a type that does not exist" "bad mail type 'ENDS'" \
	aisub --mail-type=ENDS --wrap true
misuse "an address that is an option" "bad address '-oQ/tmp'" \
	aisub --mail-user=-oQ/tmp --wrap true
misuse "two addresses" "bad address 'a@x,b@x'" \
	aisub --mail-user=a@x,b@x --wrap true
misuse "a line end" "control characters" aisub --mail-user="a@x
Bcc: b@x" --wrap true
mailing 'domains = {"x.example"}'
aictl reload
fails "a domain that is not listed" 1 "no mail is sent to 'y.example'" \
	aisub --mail-type=END --mail-user=a@y.example --wrap true
id=$(sleeper)
wait_for is_state "$id" RUNNING
fails "nor for a job that runs" 1 "no mail is sent to 'y.example'" \
	aictl update "$id" mail-type=END mail-user=a@y.example
fails "a job gets no bad type" 1 "bad mail type 'ENDS'" \
	aictl update "$id" mail-type=ENDS
fails "nor a bad address" 1 "bad address 'a@x,b@x'" \
	aictl update "$id" mail-user=a@x,b@x
is "then nothing has changed" "$(field "$id" mail_type,mail_user | xargs)" "- -"
aicancel "$id"
ok "one that is" aisub -H --mail-type=END --mail-user=a@X.example --wrap true

# --- the text of mails ------------------------------------------------------

mailing 'from = "queue@x.example"  per_user = 1000'
aictl reload
id=$(submit -J grün --mail-type=BEGIN,END --wrap 'exit 0')
becomes "a job ends" "$id" COMPLETED
ok "its user is told of begin and end" wait_for got 2 "^Message-ID: <$id\.1\."
ok "in the order" sentinel
is "to its user" "$(mail_of "<$id.1.END" | grep '^To:')" "To: $me"
is "from where mails come" "$(mail_of "<$id.1.END" | grep '^From:')" \
	"From: queue@x.example"
is "a name is encoded" "$(mail_of "<$id.1.END" | sed -n 's/^Subject: //p; s/^ =/=/p' |
	sed 's/=?UTF-8?B?//; s/?=//' | base64 -d |
	sed 's/Run time [0-9:]*/Run time/')" \
	"aisched Job_id=$id Name=grün Ended, Run time, COMPLETED, ExitCode 0"
is "programs do not answer it" "$(mail_of "<$id.1.END" |
	grep -c '^Auto-Submitted: auto-generated$')" 1
is "it says how it ended" "$(mail_of "<$id.1.END" | grep '^State:' | xargs)" \
	"State: COMPLETED"
is "the command gets recipients from the mail" "$(cat "$dir/args")" "-t -i"

id=$(submit --mail-type=FAIL --mail-user=a.b@x.example --wrap 'exit 3')
ok "a failure is told" wait_for got 1 \
	"^Subject: aisched Job_id=$id Name=wrap Failed, Run time .*, FAILED, ExitCode 3"
is "to whom the job says" "$(mail_of "Job_id=$id " | grep '^To:')" \
	"To: a.b@x.example"
id=$(submit --mail-type=FAIL --wrap true)
dep=$(submit --mail-type=INVALID_DEPEND -d "afternotok:$id" --wrap true)
ok "so is a dependency that cannot be met" wait_for got 1 \
	"^Subject: aisched Job_id=$dep Name=wrap Invalid dependency"
aicancel "$dep"
id=$(sleeper --mail-type=REQUEUE,TIME_LIMIT)
wait_for is_state "$id" RUNNING
aictl requeue "$id"
ok "so is a requeue" wait_for got 1 \
	"^Subject: aisched Job_id=$id Name=wrap Requeued"
aicancel "$id"
id=$(sleeper -t 1s --mail-type=TIME_LIMIT)
ok "so is a time limit" wait_for got 1 \
	"^Subject: aisched Job_id=$id Name=wrap Reached time limit"

id=$(sleeper)
wait_for is_state "$id" RUNNING
unlike "a job without mails does not tell of them" "$(aiq "$id")" '^  mail'
aictl update "$id" mail-type=end,fail
like "one that runs is told to send them" "$(aiq "$id")" "^  mail +END,FAIL to $me\$"
aictl update "$id" mail-user=a@x.example
is "to someone else" "$(aiq --json "$id" |
	grep -o '"mail_type":[^,]*,[^,]*,"mail_user":[^,]*')" \
	'"mail_type":"END,FAIL","mail_user":"a@x.example"'
aicancel "$id"
ok "and does" wait_for got 1 "^Subject: aisched Job_id=$id Name=wrap Ended"
is "there" "$(mail_of "Job_id=$id " | grep '^To:')" "To: a@x.example"
is "of an ended one, too" "$(aiq --history -h -o mail_type,mail_user "$id" | xargs)" \
	"END,FAIL a@x.example"

id=$(submit -a 0-2 --mail-type=END --wrap 'exit $AISCHED_ARRAY_TASK_ID')
becomes "an array ends" "${id}_2" FAILED
sentinel
ok "which is one mail" wait_for got 1 \
	"^Subject: aisched Array Summary Job_id=${id}_\* ($id) Name=wrap Ended, Mixed, ExitCode \[0-2\]"
is "and no other" "$(cat "$dir"/box/*.mail | grep -c "^Subject: .*Job_id=${id}_")" 1
id=$(submit -a 0-2 --mail-type=END,ARRAY_TASKS --wrap true)
ok "unless each task is told" wait_for got 3 \
	"^Subject: aisched Array Task Job_id=${id}_[0-2] .*, COMPLETED, ExitCode 0"
sentinel
is "then alone" "$(cat "$dir"/box/*.mail | grep -c "Array Summary Job_id=${id}_")" 0

printf 'MAILTO=me@x.example\n#SCRON --mail-type=END\n@every 1s true\n' >"$dir/tab"
aictl cron import "$dir/tab"
ok "recurring work is told to MAILTO" wait_for \
	"grep -q '^To: me@x.example' $dir/box/*.mail"
aictl cron clear -y 2>/dev/null || aictl cron clear
id=$(aisub --parsable --cron '@every 2s' --mail-type=CRON_SKIPPED \
	--wrap "until [ -e $dir/stop ]; do sleep .1; done")
ok "so is a time that had no run" wait_for \
	"grep -q '^Subject: aisched Cron_id=$id Name=wrap Skipped$' $dir/box/*.mail"
aictl cron delete "$id"
touch "$dir/stop"
like "with the reason" "$(mail_of "Cron_id=$id " | grep '^Reason:')" \
	'^Reason: +skipped 20[^ ]*: job [0-9]+ had not ended$'

# --- a real sendmail --------------------------------------------------------

# An SMTP server that writes each mail to $dir/smtp/N, its recipient first.
cat >"$dir/sink.py" <<-END
	import asyncore, smtpd
	class Sink(smtpd.SMTPServer):
	    n = 0
	    def process_message(self, peer, sender, rcpts, data, **kw):
	        Sink.n += 1
	        with open("$dir/smtp/%d.part" % Sink.n, "wb") as f:
	            f.write(",".join(rcpts).encode() + b"\\n" + data)
	        import os
	        os.rename(f.name, f.name[:-5])
	sink = Sink(("127.0.0.1", 0), None)
	with open("$dir/port.part", "w") as f:
	    f.write(str(sink.socket.getsockname()[1]))
	import os
	os.rename("$dir/port.part", "$dir/port")
	asyncore.loop()
END
cat >"$dir/read.py" <<-END
	import email, email.header, sys
	lines = open(sys.argv[1], "rb").read().split(b"\\n", 1)
	mail = email.message_from_bytes(lines[1])
	subject = email.header.make_header(email.header.decode_header(mail["Subject"]))
	print(lines[0].decode(), mail["To"], str(subject), mail["Message-ID"])
END
if command -v msmtp >/dev/null &&
	python3 -W ignore -c 'import smtpd' 2>/dev/null; then
	mkdir "$dir/smtp"
	python3 -W ignore "$dir/sink.py" &
	sink=$!
	wait_for [ -s "$dir/port" ]
	printf 'account default\nhost 127.0.0.1\nport %s\nfrom q@x.example\n' \
		"$(cat "$dir/port")" >"$dir/msmtprc"
	printf '#!/bin/sh\nexec msmtp -C %s "$@"\n' "$dir/msmtprc" >"$dir/msmtp"
	chmod 755 "$dir/msmtp"
	configure "$default_config
mail { command = \"$dir/msmtp\"  per_user = 1000 }"
	aictl reload
	id=$(submit -J 'grün, Bcc: c@x.example' --mail-user=a.b@x.example \
		--mail-type=END --wrap true)
	ok "msmtp takes a mail" wait_for [ -s "$dir/smtp/1" ]
	like "and sends it to whom it is for, as it is" \
		"$(python3 "$dir/read.py" "$dir/smtp/1")" \
		"^a.b@x.example a.b@x.example aisched Job_id=$id Name=grün, Bcc: c@x.example Ended, .* <$id\.1\.END\."
	kill "$sink"
	wait "$sink" 2>/dev/null
	id=$(submit --mail-user=a.b@x.example --mail-type=END --wrap true)
	ok "without its server it says why it cannot" wait_for \
		"grep -q 'mail fail event=$id.1.END.*ended with status .*msmtp: ' '$log'"
else
	skip "a real sendmail" "takes msmtp, and smtpd of python3"
fi
mailing 'per_user = 1000'
aictl reload

# --- failures ---------------------------------------------------------------

if ! command -v sqlite3 >/dev/null; then
	skip "failures, digests" "takes sqlite3"
	done_testing
	exit 0
fi
echo fail >"$dir/mode"
id=$(submit -J later --mail-type=END --wrap true)
ok "a command that fails is tried again" wait_for \
	"grep -q \"mail fail event=$id.1.END.*ended with status 75 ('no route'); it is tried again in 30 s\" '$log'"
like "and counted" "$(counted)" '^[12] [0-9]+ [12] 0$' # with that of msmtp
stop_daemon
echo good >"$dir/mode"
sql "UPDATE outbox SET due = 0"
start_daemon
ok "then the mail is sent" wait_for got 1 "Job_id=$id Name=later Ended"
ok "and is no longer kept" wait_for '[ "$(sql "SELECT count(*) FROM outbox")" = 0 ]'

echo fail >"$dir/mode"
id=$(submit -J old --mail-type=END --wrap true)
wait_for grep -q "mail fail event=$id.1.END" "$log"
stop_daemon
sql "UPDATE outbox SET made = made - 86401, due = 0"
start_daemon
ok "after a day a mail is given up" wait_for grep -q \
	"mail drop event=$id.1.END.* ('no route'); it was tried for a day" "$log"
ok "and counted as dropped" wait_for '[ "$(counted)" = "0 0 1 1" ]'
is "and is no longer kept" "$(sql "SELECT count(*) FROM outbox")" 0

echo hang >"$dir/mode"
id=$(submit -J killed --mail-type=END --wrap true)
wait_for [ -s "$dir/hung" ]
ok "a command that hangs holds nobody up" aictl ping
kill_daemon
kill -KILL "$(cat "$dir/hung")"
rm "$dir/hung"
echo good >"$dir/mode"
start_daemon
ok "a daemon that was killed before it was sent sends it" wait_for got 1 \
	"Job_id=$id Name=killed Ended"
sentinel
ok "once" got 1 "^Message-ID: <$id.1.END"

echo hang >"$dir/mode"
id=$(submit -J hangs --mail-type=END --wrap true)
ok "after 30 s it is killed" wait_for \
	"grep -q \"mail fail event=$id.1.END.*did not end within 30 s\" '$log'"
echo good >"$dir/mode"

# A file system whose server never answers. The kernel ends all calls when the
# descriptor is closed.
if is_root && (: <>/dev/fuse) 2>/dev/null && mkdir "$dir/dead" &&
	exec 9<>/dev/fuse && mount -i -t fuse dead "$dir/dead" \
	-o fd=9,rootmode=40000,user_id=0,group_id=0; then
	trap 'exec 9>&-; umount -l "$dir/dead" 2>/dev/null; clean_up' EXIT
	configure "$default_config
mail { command = \"$dir/dead/sendmail\" }"
	aictl reload
	id=$(submit --mail-type=END --wrap true)
	becomes "a command on a dead disk is started" "$id" COMPLETED
	ok "and hangs" wait_for pgrep -f "^/bin/sh -c .* $dir/dead/sendmail -t"
	ok "which holds nobody up" aictl ping
	id=$(submit --wrap true)
	becomes "nor any job" "$id" COMPLETED
	ok "nor the end of the daemon" stop_daemon
	exec 9>&-
	umount -l "$dir/dead"
	trap clean_up EXIT
	start_daemon
else
	skip "a command on a dead disk" "takes root and FUSE"
fi
stop_daemon
sql "DELETE FROM outbox"
mailing 'per_user = 2  queue = 24'
start_daemon
id=$(submit -a 0-4 --mail-type=END,ARRAY_TASKS --wrap true)
becomes "five mails of a user who may have two an hour" "${id}_4" COMPLETED
ok "are two" wait_for got 2 "^Subject: aisched Array Task Job_id=${id}_"
ok "the rest is held" wait_for \
	'[ "$(sql "SELECT count(*) FROM outbox WHERE held")" = 3 ]'
id=$(submit -a 0-9 --mail-type=END,ARRAY_TASKS --wrap true)
ok "a user has no more than a quarter of the outbox" wait_for \
	"grep -q 'mail drop count=' '$log'"
wait_for "aiq --history -h -o state $id | grep -c COMPLETED | grep -q 10"
is "but these" "$(sql "SELECT count(*) FROM outbox")" 6
is "all are counted" "$(counted)" "6 2 0 7"
stop_daemon
sql "UPDATE outbox SET due = 0, held = 1"
start_daemon
ok "later they are one" wait_for got 1 "^Subject: aisched Digest of 6 mails"
is "which has their subjects" "$(mail_of "Digest of 6" | grep -c 'Array Task Job_id=')" 6
ok "and were sent" wait_for '[ "$(sql "SELECT count(*) FROM outbox")" = 0 ]'
ok "as one" wait_for '[ "$(counted)" = "0 1 0 0" ]'
done_testing
