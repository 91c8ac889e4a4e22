#!/bin/sh
# make install into a prefix other than that of configure

# shellcheck source=tests/e2e/lib.sh
. "$top_srcdir/tests/e2e/lib.sh"

prefix=/opt/aisched
root=$dir/root

install_it()
{
	make -C "$top_builddir" install prefix="$prefix" DESTDIR="$root"
}

ok "make install takes a prefix" install_it
is "nothing is outside the prefix" \
	"$(cd "$root" && find . ! -type d | grep -v "^./opt/aisched/")" ""
installed=$root$prefix
programs='bin/aicancel bin/aictl bin/aiq bin/aisim bin/aisub
libexec/aisched/aisched-gpu libexec/aisched/aisched-pod libexec/aisched/aisched-shepherd libexec/aisched/aisched-web libexec/aisched/slurm/slurm sbin/aischedd'
for file in $programs \
	lib/systemd/system/aischedd.service lib/sysusers.d/aisched.conf \
	lib/tmpfiles.d/aisched.conf share/doc/aisched/aischedd.conf \
	share/bash-completion/completions/aisub \
	share/man/man1/aisub.1 share/man/man1/aiq.1 share/man/man1/aicancel.1 \
	share/man/man1/aictl.1 share/man/man5/aischedd.conf.5 \
	share/man/man7/aisched.7 share/man/man7/aisched-metrics.7 \
	share/man/man7/slurm.7 share/man/man8/aischedd.8; do
	ok "$file is there" test -s "$installed/$file"
done
is "each command of Slurm is a link" "$(cd "$installed/libexec/aisched/slurm/bin" &&
	for link in *; do readlink "$link"; done | sort -u)" ../slurm
# shellcheck disable=SC2086 # words are wanted
is "no other programs" \
	"$(cd "$installed" && find . -type f -perm -100 | sort | xargs)" \
	"$(printf './%s\n' $programs | xargs)"
like "the unit starts the daemon of the prefix" \
	"$(cat "$installed/lib/systemd/system/aischedd.service")" \
	"^ExecStart=$prefix/sbin/aischedd\$"
ok "the example configuration has no mistake" \
	"$installed/sbin/aischedd" --check-config \
	-c "$installed/share/doc/aisched/aischedd.conf"

# Make the build folder unreachable for the installed programs.
aischedd=$installed/sbin/aischedd
PATH=$installed/bin:$PATH
start_daemon || bail "the installed aischedd does not start"
# shellcheck disable=SC2016 # the job expands it
id=$(aisub --parsable --wrap 'tr "\0" " " </proc/$PPID/cmdline')
ok "a job runs" wait_for is_state "$id" COMPLETED
like "its shepherd is the installed one" "$(cat "slurm-$id.out")" \
	"^$installed/(sbin/\.\./)?libexec/aisched/aisched-shepherd "
stop_daemon

ok "make uninstall" make -C "$top_builddir" uninstall prefix=$prefix \
	DESTDIR="$root"
is "it leaves nothing" "$(find "$root" ! -type d)" ""

done_testing
