#!/bin/sh
# aischedd's client of the Kubernetes API, with a real API server: it reads,
# writes and watches, and reports errors.

. "$top_srcdir/tests/e2e/lib.sh"
. "$top_srcdir/tests/kube/control_plane.sh"

maps=/api/v1/namespaces/default/configmaps

# METHOD PATH [BODY]: calls as the administrator
ask()
{
	"$top_builddir/tests/kube/ask" "$kube/admin.conf" "$@" 2>&1
}

# FILE METHOD PATH [BODY]: calls as the user of the kubeconfig FILE
ask_as()
{
	"$top_builddir/tests/kube/ask" "$@" 2>&1
}

# PATTERN: whether the watch has printed a line that matches
told()
{
	grep -qE -- "$1" "$dir/watch"
}

ok "a control plane starts" kube_start || bail "there is no control plane"

# --- reading and writing ---------------------------------------------------

like "it is asked" "$(ask get /version)" '^200 .*"major":"1"'
like "an object is made" \
	"$(ask post "$maps" '{"metadata": {"name": "a"}, "data": {"k": "v"}}')" \
	'^201 .*"manager":"aischedd"'
is "another of that name is not" \
	"$(ask post "$maps" '{"metadata": {"name": "a"}}')" \
	"409 AlreadyExists: cannot create configmaps in namespace 'default': \
configmaps \"a\" already exists"
like "what objects do not have is refused" \
	"$(ask post "$maps" '{"metadata": {"name": "b"}, "dat": {}}')" \
	'^400 BadRequest: .*unknown field "dat"'
like "a merge patch" "$(ask merge "$maps/a" '{"data": {"k": null, "l": "w"}}')" \
	'^200 .*"data":\{"l":"w"\}'
like "a JSON patch" "$(ask json "$maps/a" \
	'[{"op": "test", "path": "/data/l", "value": "w"},
	{"op": "replace", "path": "/data/l", "value": "x"}]')" \
	'^200 .*"data":\{"l":"x"\}'
like "a strategic patch" \
	"$(ask strategic "$maps/a" '{"metadata": {"finalizers": []}}')" '^200 '
like "an old version" "$(ask put "$maps/a" '{"metadata": {"name": "a",
	"resourceVersion": "1"}}')" '^409 Conflict: cannot update configmaps '
like "an object of another uid" "$(ask merge "$maps/a" \
	'{"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}}')" \
	'^(409 Conflict|422 Invalid): cannot patch configmaps'
like "a deletion of another uid" "$(ask delete "$maps/a" \
	'{"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}')" \
	'^409 Conflict: cannot delete'
like "it is deleted" "$(ask delete "$maps/a")" '^200 '
is "and gone" "$(ask get "$maps/a")" \
	"404 NotFound: cannot get configmaps 'a' in namespace 'default': \
configmaps \"a\" not found"
ok "many are made" ask many 300 "$maps" \
	'{"metadata": {"name": "many-%d", "labels": {"set": "many"}}}'

# --- other users -----------------------------------------------------------

kube create serviceaccount little >/dev/null
kube_account default little "$kube/little.conf"
is "a rule that is missing is named" \
	"$(ask_as "$kube/little.conf" get /apis/batch/v1/jobs)" \
	"403 Forbidden: user 'system:serviceaccount:default:little' may not \
list jobs; allow it with the rule {apiGroups: [\"batch\"], resources: [jobs], \
verbs: [list]}"
like "of a subresource, too" "$(ask_as "$kube/little.conf" post \
	/api/v1/namespaces/default/pods/p/binding '{}')" \
	"resources: \[pods/binding\], verbs: \[create\]\}$"
kube create quota none --hard=configmaps=0 --namespace kube-public >/dev/null
quota_counts()
{
	kube get quota none --namespace kube-public \
		--output jsonpath='{.status.used}' | grep -q configmaps
}
wait_for quota_counts
like "a quota is not a missing rule" "$(ask post \
	/api/v1/namespaces/kube-public/configmaps '{"metadata": {"name": "a"}}')" \
	"^403 Forbidden: cannot create configmaps .* exceeded quota: none"

cat >"$dir/plugin" <<END
#!/bin/sh
echo run >>"$dir/plugin.runs"
cat "$dir/credential"
END
chmod +x "$dir/plugin"
kube_config "$dir/plugin.conf" '{"exec": {"command": "./plugin",
	"apiVersion": "client.authentication.k8s.io/v1"}}'
credential()
{
	cat >"$dir/credential" <<-END
		{"apiVersion": "client.authentication.k8s.io/v1",
		"kind": "ExecCredential", "status": {"token": "$1"}}
	END
}
credential "$(kube create token little)"
like "a program says who asks" \
	"$(ask_as "$dir/plugin.conf" get /api/v1/nodes)" "default:little' may"
is "it is run once" "$(wc -l <"$dir/plugin.runs")" 1
credential wrong
like "what it says is wrong" "$(ask_as "$dir/plugin.conf" get /api/v1/nodes)" \
	"^trouble: API server '$kube_url' does not accept the credentials of \
user 'user' in kubeconfig '$dir/plugin.conf'; renew them \("

kube_cert stranger /CN=stranger
sed "s,$kube/ca.crt,$kube/stranger.crt," "$kube/admin.conf" >"$dir/strange.conf"
like "a server of another authority is refused" \
	"$(ask_as "$dir/strange.conf" get /version)" \
	"^trouble: the certificate of API server '$kube_url' is refused: "
kube_config "$dir/none.conf" '{}'
like "nobody is somebody, who may nothing" \
	"$(ask_as "$dir/none.conf" get /api/v1/nodes)" \
	"^403 Forbidden: user 'system:anonymous' may not list nodes"

# --- watching --------------------------------------------------------------

# The watch begins with a list, which is read in pages.
"$top_builddir/tests/kube/ask" "$kube/admin.conf" watch \
	"$maps?labelSelector=set%3Dmany" >"$dir/watch" 2>&1 &
watcher=$!
wait_for told synced
is "all are listed" "$(grep -c '^added many-' "$dir/watch")" 300
kube label configmap many-7 more=yes >/dev/null
ok "a change is told" wait_for told '^modified many-7$'
kube delete configmap many-8 >/dev/null
ok "a deletion is told" wait_for told '^deleted many-8$'
kube label configmap many-9 set- >/dev/null
ok "what leaves the selection is deleted" wait_for told '^deleted many-9$'

part_kill apiserver
ok "a server that is gone is told" wait_for told \
	"^trouble: API server '$kube_url' cannot be reached: Connection refused"
# shellcheck disable=SC2119
apiserver_start
ok "it is found again" wait_for told '^well$'
kube label configmap many-10 more=yes >/dev/null
ok "and watched" wait_for told '^modified many-10$'

part_kill apiserver
part_kill etcd
etcd_start
# shellcheck disable=SC2119
apiserver_start
kube label configmap many-11 more=yes >/dev/null
ok "after the database was away, too" wait_for told '^modified many-11$'
kill $watcher
wait $watcher 2>/dev/null

done_testing
