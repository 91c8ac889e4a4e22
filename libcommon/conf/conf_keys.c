/* conf_keys.c - the tables of all keys of the configuration */
#include "libcommon/conf/conf_keys.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "libcommon/buf.h"
#include "libcommon/limits.h"
#include "libcommon/mail.h"
#include "libcommon/mig.h"
#include "libcommon/parse.h"

#define MAX_WEIGHT      1000000
#define MAX_NODE_WEIGHT (UINT32_MAX - 1) /* as in Slurm */
#define MAX_MIB         ((int64_t)1 << 40)
#define MAX_BYTES       ((int64_t)1 << 50)
#define CENTURY_S       ((int64_t)36500 * 86400)
#define MAX_CPUS        ((int64_t)LIMIT_NODES * LIMIT_CPUS * 1000)
#define MAX_PRICE       ((int64_t)1000000 * 1000000)
#define MAX_GPUS        ((int64_t)LIMIT_NODES * LIMIT_GPUS * 1000)

enum { NAME_MAX_LEN = 63, NODE_NAME_MAX_LEN = 253 };

static bool is_made_of(const char *s, size_t max_len, const char *others)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr(others, s[i]))
			return false;
	return len > 0 && len <= max_len && isalnum((unsigned char)*s);
}

int conf_check_name(const char *name, struct err *err)
{
	if (is_made_of(name, NAME_MAX_LEN, "._-"))
		return 0;
	return err_set(err, EINVAL,
	               "bad name '%s': use up to %d letters, digits, '.', '_' "
	               "and '-', a letter or digit first",
	               name, NAME_MAX_LEN);
}

int conf_check_node_name(const char *name, struct err *err)
{
	if (is_made_of(name, NODE_NAME_MAX_LEN, "._-"))
		return 0;
	return err_set(err, EINVAL,
	               "bad node name '%s': use up to %d letters, digits, "
	               "'.', '_' and '-', a letter or digit first",
	               name, NODE_NAME_MAX_LEN);
}

static int check_path(const char *path, struct err *err)
{
	if (*path == '/')
		return 0;
	return err_set(err, EINVAL, "bad path '%s': use one that begins with /",
	               path);
}

static int check_host_port(const char *s, struct err *err)
{
	const char *colon = strrchr(s, ':');
	int64_t port;

	if (colon && colon > s && !strpbrk(s, " /") &&
	    parse_int(colon + 1, 0, UINT16_MAX, &port, NULL) == 0)
		return 0;
	return err_set(err, EINVAL,
	               "bad address '%s': use HOST:PORT, like 127.0.0.1:7118",
	               s);
}

static int check_listen(const char *s, struct err *err)
{
	const struct sockaddr_un un;

	if (*s == '/' && strlen(s) < sizeof(un.sun_path))
		return 0;
	if (!strncmp(s, "tcp://", 6))
		return check_host_port(s + 6, err);
	return err_set(
	    err, EINVAL,
	    "bad address '%s': use the path of a socket of less than "
	    "%zu bytes, or tcp://HOST:PORT",
	    s, sizeof(un.sun_path));
}

static int check_header(const char *s, struct err *err)
{
	if (isalpha((unsigned char)*s) && is_made_of(s, 64, "-"))
		return 0;
	return err_set(err, EINVAL,
	               "bad header '%s': use a name like X-Remote-User", s);
}

/* Check the name of a user, or @GROUP. A user's name may have colons, as in
 * system:serviceaccount:team:ci, a user of a cluster. */
static int check_user(const char *s, struct err *err)
{
	bool group = *s == '@';

	if (s[group] && !strpbrk(s + group, group ? " ,:/" : " ,"))
		return 0;
	return err_set(err, EINVAL,
	               "bad name '%s': use that of a user, or @GROUP", s);
}

static int check_feature(const char *s, struct err *err)
{
	if (is_made_of(s, NODE_NAME_MAX_LEN, "._-/"))
		return 0;
	return err_set(err, EINVAL,
	               "bad word '%s': use letters, digits, '.', '_', '-' and "
	               "'/', a letter or digit first",
	               s);
}

/* A resource of a device plugin: Kubernetes demands a domain. */
static int check_resource(const char *s, struct err *err)
{
	if (strchr(s, '/'))
		return check_feature(s, err);
	return err_set(err, EINVAL,
	               "bad resource '%s': give its domain, as in rdma/hca", s);
}

/* Whether *s begins with four hexadecimal digits or '*'; moves *s behind. */
static bool take_pci_number(const char **s)
{
	size_t n = **s == '*' ? 1 : strspn(*s, "0123456789abcdef");
	bool good = **s == '*' || n == 4;

	*s += n;
	return good;
}

static int check_pci(const char *text, struct err *err)
{
	const char *s = text;

	if (take_pci_number(&s) && *s++ == ':' && take_pci_number(&s) && !*s)
		return 0;
	return err_set(err, EINVAL,
	               "bad PCI device '%s': use VENDOR:DEVICE, as in "
	               "15b3:101b or 15b3:*",
	               text);
}

static int check_level_label(const char *s, struct err *err)
{
	const char *is = strchr(s, '=');

	if (!is || is == s || !is[1])
		return err_set(err, EINVAL, "'%s': use LEVEL=LABEL", s);
	return check_feature(is + 1, err);
}

static int check_pair(const char *s, const char *what, struct err *err)
{
	if (is_made_of(s, NODE_NAME_MAX_LEN, "._-/=") &&
	    strchr(s, '=') == strrchr(s, '='))
		return 0;
	return err_set(err, EINVAL, "bad %s '%s': use KEY=VALUE or KEY", what,
	               s);
}

static int check_taint(const char *s, struct err *err)
{
	return check_pair(s, "taint", err);
}

static int check_label(const char *s, struct err *err)
{
	return check_pair(s, "label", err);
}

static int check_gpu_metrics(const char *s, struct err *err)
{
	const char *node = strstr(s, "{node}");

	if (!strncmp(s, "http://", 7) && node && !strchr(node + 1, '{') &&
	    !strpbrk(s, " \t\r\n"))
		return 0;
	return err_set(err, EINVAL,
	               "'%s' is not like \"http://{node}:9400/metrics\"", s);
}

/* A pattern must be able to match the source of a mount: a path or a claim. */
static int check_mount(const char *s, struct err *err)
{
	static const char claim[] = "pvc:";
	size_t len = strcspn(s, "*?[\\");

	if (len > strlen(claim))
		len = strlen(claim);
	if (*s == '/' || (*s && !strncmp(s, claim, len)))
		return 0;
	return err_set(err, EINVAL,
	               "'%s' allows nothing: use /FOLDER or pvc:CLAIM", s);
}

/* Check an item of a list of memory sizes. */
static int check_mib(const char *s, struct err *err)
{
	int64_t mib;

	return parse_mib(s, 'M', &mib, err);
}

/* Check an item of a list of numbers of NUMA nodes or link groups. */
static int check_group(const char *s, struct err *err)
{
	int64_t n;

	return parse_int(s, 0, LIMIT_GPUS - 1, &n, err);
}

/* Check the price of a GPU type, such as "h100:3.20". */
static int check_gpu_price(const char *s, struct err *err)
{
	const char *colon = strchr(s, ':');
	int64_t price;

	if (colon && colon > s &&
	    parse_micro(colon + 1, MAX_PRICE, &price, NULL) == 0)
		return 0;
	return err_set(err, EINVAL,
	               "bad price '%s': use TYPE:PRICE, like h100:3.20", s);
}

static int check_mig(const char *s, struct err *err)
{
	struct buf names = { 0 };
	int rc = 0;

	for (int i = 1; mig_model_name[i]; i++)
		buf_printf(&names, "%s%s", i > 1 ? ", " : "",
		           mig_model_name[i]);
	if (!mig_find_model(s))
		rc = err_set(err, EINVAL, "unknown model '%s': use one of %s",
		             s, names.data);
	buf_free(&names);
	return rc;
}

static int check_private(const char *s, struct err *err)
{
	if (!strcmp(s, "jobs") || !strcmp(s, "usage"))
		return 0;
	return err_set(err, EINVAL, "bad word '%s': use jobs or usage", s);
}

static const char *const charges[] = { "sum", "max", NULL };
static const char *const open_closed[] = { "open", "closed", NULL };
#define X(sym, name) name,
static const char *const orders[] = { NODE_ORDERS(X) NULL };
static const char *const job_orders[] = { JOB_ORDERS(X) NULL };
static const char *const runners[] = { RUNNER_KINDS(X) NULL };
#undef X
static const char *const metrics_accesses[] = { "none", "loopback", "open",
	                                        NULL };
static const char *const devices[] = { "auto", "dra", "plugin", NULL };
static const char *const sharings[] = { "none", "capacity", "claims", NULL };
static const char *const cpu_limits[] = { "asked", "none", NULL };
static const char *const scale_bys[] = { "program", "standin", "provisioning",
	                                 NULL };
static const char *const preempts[] = { "suspend", "requeue", "cancel", NULL };
static const char *const idle_actions[] = { "notify", "cancel", NULL };

#define KEY(key, kind_, member, ...)                                    \
	{                                                               \
		.name = key, .kind = KEY_##kind_, .offset = AT(member), \
		__VA_ARGS__                                             \
	}
#define RANGE(least, most) .min = least, .max = most
#define TABLE(keys, type)                            \
	&(const struct conf_key_table)               \
	{                                            \
		keys, ARRAY_SIZE(keys), sizeof(type) \
	}

#define AT(member) offsetof(struct conf_class, member)
static const struct conf_key class_keys[] = {
	KEY("priority", INT, priority, .initial = "0",
	    RANGE(-MAX_WEIGHT, MAX_WEIGHT)),
	KEY("preemptible", BOOL, preemptible, .initial = "no"),
	KEY("users", LIST, users, .check = check_user),
	KEY("priority_class", TEXT, priority_class, .check = conf_check_name),
};
#undef AT

/* The member that these keys fill is an int64_t[RES_N], like that
 * of ration_keys. */
#define AT(resource) ((resource) * sizeof(int64_t))
static const struct conf_key price_keys[] = {
	KEY("cpu", MICRO, RES_CPU, RANGE(0, MAX_PRICE)),
	KEY("memory", MICRO, RES_MEM, RANGE(0, MAX_PRICE)),
	KEY("gpu", MICRO, RES_GPU, RANGE(0, MAX_PRICE)),
};
#undef AT

#define AT(member) offsetof(struct conf_pool, member)
static const struct conf_key pool_keys[] = {
	KEY("runner", WORD, runner, .initial = "none", .words = runners),
	KEY("order", WORD, order, .initial = "pack", .words = orders),
	KEY("weight", INT, weight, .initial = "1", RANGE(0, MAX_NODE_WEIGHT)),
	KEY("default_memory_per_cpu", MIB, default_memory_per_cpu,
	    RANGE(1, MAX_MIB)),
	KEY("kubeconfig", TEXT, kubeconfig, .check = check_path),
	KEY("context", TEXT, context),
	KEY("namespace", TEXT, namespace, .initial = "aisched",
	    .check = conf_check_name, .special = true),
	KEY("namespaces", LIST, namespaces, .check = conf_check_name),
	KEY("node_selector", TEXT, node_selector),
	KEY("image", TEXT, image),
	KEY("pod_agent_image", TEXT, pod_agent_image),
	KEY("gpu_resource", TEXT, gpu_resource, .initial = "nvidia.com/gpu",
	    .check = check_feature, .special = true),
	KEY("devices", WORD, devices, .initial = "auto", .words = devices,
	    .special = true),
	KEY("device_driver", TEXT, device_driver, .initial = "gpu.nvidia.com",
	    .check = check_feature, .special = true),
	KEY("device_class", TEXT, device_class, .initial = "gpu.nvidia.com",
	    .check = check_feature, .special = true),
	KEY("mig_class", TEXT, mig_class, .initial = "mig.nvidia.com",
	    .check = check_feature, .special = true),
	KEY("gpu_sharing", WORD, gpu_sharing, .initial = "none",
	    .words = sharings, .special = true),
	KEY("devices_shared", BOOL, devices_shared, .initial = "no",
	    .special = true),
	KEY("cpu_limit", BOOL, cpus_unlimited, .initial = "asked",
	    .words = cpu_limits, .special = true),
	KEY("cpu_overcommit", MILLI, cpu_overcommit, .initial = "1",
	    RANGE(1000, 100000), .special = true),
	KEY("service_account", TEXT, service_account, .check = conf_check_name),
	KEY("priority_class", TEXT, priority_class, .check = conf_check_name),
	KEY("user_annotation", TEXT, user_annotation),
	KEY("allow_mounts", LIST, allow_mounts, .check = check_mount),
	KEY("image_pull_secrets", LIST, image_pull_secrets,
	    .check = conf_check_name),
	KEY("drain_conditions", LIST, drain_conditions, .check = check_feature),
	KEY("gpu_metrics", TEXT, gpu_metrics, .check = check_gpu_metrics,
	    .special = true),
	KEY("log_limit", BYTES, log_limit, .initial = "16M",
	    RANGE(1, MAX_BYTES), .special = true),
	KEY("price", GROUP, price, .table = TABLE(price_keys, int64_t[RES_N])),
	KEY("gpu_price", LIST, gpu_price, .check = check_gpu_price),
	KEY("isolate_network", BOOL, isolate_network, .initial = "no",
	    .special = true),
	KEY("run_as_root", BOOL, run_as_root, .initial = "no", .special = true),
	KEY("constrain_devices", BOOL, constrain_devices, .initial = "no",
	    .special = true),
};
#undef AT

#define AT(member) offsetof(struct conf_node, member)
static const struct conf_key node_keys[] = {
	KEY("pool", POOL, pool),
	KEY("cpus", INT, cpus, RANGE(1, LIMIT_CPUS)),
	KEY("memory", MIB, memory, RANGE(1, MAX_MIB)),
	KEY("gpus", INT, gpus, RANGE(0, LIMIT_GPUS)),
	KEY("gpu_type", TEXT, gpu_type, .check = check_feature),
	KEY("features", LIST, features, .check = check_feature),
	KEY("taints", LIST, taints, .check = check_taint),
	KEY("reserve_cpus", MILLI, reserve_cpus, .initial = "0",
	    RANGE(0, LIMIT_CPUS * 1000)),
	KEY("reserve_memory", MIB, reserve_memory, .initial = "0",
	    RANGE(0, MAX_MIB)),
	KEY("sockets", INT, sockets, RANGE(1, LIMIT_SOCKETS)),
	KEY("gpu_link_groups", INT, gpu_link_groups, RANGE(1, LIMIT_GPUS)),
	KEY("numa_memory", LIST, numa_memory, .check = check_mib),
	KEY("gpu_numa", LIST, gpu_numa, .check = check_group),
	KEY("gpu_links", LIST, gpu_links, .check = check_group),
	KEY("gpu_memory", MIB, gpu_memory, RANGE(1, MAX_MIB)),
	KEY("mig", TEXT, mig, .check = check_mig),
	KEY("mig_fixed", LIST, mig_fixed),
	KEY("topology", TEXT, topology),
	KEY("weight", INT, weight, .initial = "1", RANGE(0, MAX_NODE_WEIGHT)),
	KEY("tmp", MIB, tmp, RANGE(0, MAX_MIB)),
	KEY("devices", LIST, devices),
	KEY("gpu_roots", LIST, gpu_roots, .check = check_group),
};
#undef AT

#define AT(member) offsetof(struct conf_scale, member)
static const struct conf_key scale_keys[] = {
	KEY("pool", POOL, pool),
	KEY("max", INT, max, RANGE(1, LIMIT_NODES)),
	KEY("cpus", INT, cpus, RANGE(1, LIMIT_CPUS)),
	KEY("memory", MIB, memory, RANGE(1, MAX_MIB)),
	KEY("tmp", MIB, tmp, .initial = "0", RANGE(0, MAX_MIB)),
	KEY("gpus", INT, gpus, .initial = "0", RANGE(0, LIMIT_GPUS)),
	KEY("gpu_type", TEXT, gpu_type, .check = check_feature),
	KEY("features", LIST, features, .check = check_feature),
	KEY("topology", TEXT, topology),
	KEY("delay", TIME, delay, .initial = "3m", RANGE(1, 86400)),
	KEY("idle_for", TIME, idle_for, .initial = "10m", RANGE(1, CENTURY_S)),
	KEY("price", MICRO, price, .initial = "0", RANGE(0, MAX_PRICE)),
	KEY("by", WORD, by, .initial = "program", .words = scale_bys),
	KEY("resume", TEXT, resume, .check = check_path),
	KEY("suspend", TEXT, suspend, .check = check_path),
	KEY("labels", LIST, labels, .check = check_label),
	KEY("taints", LIST, taints, .check = check_taint),
	KEY("priority_class", TEXT, priority_class, .check = conf_check_name),
	KEY("provisioning_class", TEXT, provisioning_class,
	    .initial = "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
	    .check = conf_check_name),
};
#undef AT

/* The member that these keys fill, quota or limit, is an int64_t[RES_N]. */
#define AT(resource) ((resource) * sizeof(int64_t))
static const struct conf_key ration_keys[] = {
	KEY("cpus", MILLI, RES_CPU, RANGE(0, MAX_CPUS)),
	KEY("memory", MIB, RES_MEM, RANGE(0, MAX_MIB)),
	KEY("gpus", MILLI, RES_GPU, RANGE(0, MAX_GPUS)),
};
#undef AT

#define AT(member) offsetof(struct conf_queue, member)
static const struct conf_key queue_keys[] = {
	KEY("parent", PARENT, parent),
	KEY("state", BOOL, closed, .initial = "open", .words = open_closed),
	KEY("limit", GROUP, limit, .table = TABLE(ration_keys, int64_t[RES_N])),
	KEY("quota", GROUP, quota, .table = TABLE(ration_keys, int64_t[RES_N])),
	KEY("weight", INT, weight, .initial = "1", RANGE(0, MAX_WEIGHT)),
	KEY("priority", INT, priority, .initial = "0",
	    RANGE(-MAX_WEIGHT, MAX_WEIGHT)),
	KEY("pools", POOLS, pools),
	KEY("users", LIST, users, .check = check_user),
	KEY("operators", LIST, operators, .check = check_user),
	KEY("max_time", UNTIL, max_time, RANGE(1, CENTURY_S)),
	KEY("default_time", UNTIL, default_time, RANGE(1, CENTURY_S),
	    .inherited = true),
	KEY("assumed_time", TIME, assumed_time, RANGE(1, CENTURY_S),
	    .inherited = true),
	KEY("max_jobs", INT, max_jobs, RANGE(0, KEY_MAX_COUNT)),
	KEY("max_jobs_per_user", INT, max_jobs_per_user,
	    RANGE(0, KEY_MAX_COUNT)),
	KEY("max_submit", INT, max_submit, RANGE(0, KEY_MAX_COUNT)),
	KEY("max_submit_per_user", INT, max_submit_per_user,
	    RANGE(0, KEY_MAX_COUNT)),
	KEY("max_gpus_per_user", MILLI, max_gpus_per_user, RANGE(0, MAX_GPUS)),
	KEY("max_wait", TIME, max_wait, RANGE(1, CENTURY_S), .inherited = true),
	KEY("min_runtime", TIME, min_runtime, .initial = "0",
	    RANGE(0, CENTURY_S), .inherited = true),
	KEY("grace", TIME, grace, .initial = "30s", RANGE(0, CENTURY_S),
	    .inherited = true),
	KEY("preempt", WORD, preempt, .initial = "suspend", .words = preempts,
	    .inherited = true),
	KEY("idle_gpu", TIME, idle_gpu, RANGE(1, CENTURY_S), .inherited = true),
	KEY("idle_gpu_action", WORD, idle_gpu_action, .initial = "notify",
	    .words = idle_actions, .inherited = true),
	KEY("idle_gpu_opt_out", BOOL, idle_gpu_opt_out, .initial = "no",
	    .inherited = true),
	KEY("price_factor", MICRO, price_factor, .initial = "1",
	    RANGE(0, 1000 * (int64_t)1000000), .inherited = true,
	    .special = true),
	KEY("class", TEXT, class, .initial = "train", .check = conf_check_name,
	    .inherited = true),
	KEY("classes", LIST, classes, .check = conf_check_name),
	KEY("namespace", TEXT, namespace, .check = conf_check_name,
	    .inherited = true),
};
#undef AT

#define AT(member) offsetof(struct conf_scheduling, member)
static const struct conf_key scheduling_keys[] = {
	KEY("order", WORD, order, .initial = "points", .words = job_orders),
	KEY("backfill", BOOL, backfill, .initial = "yes"),
	KEY("backfill_depth", INT, backfill_depth, .initial = "100",
	    RANGE(0, MAX_WEIGHT)),
	KEY("hold_after", TIME, hold_after, .initial = "1d",
	    RANGE(1, CENTURY_S)),
	KEY("age_weight", INT, age_weight, .initial = "1",
	    RANGE(0, MAX_WEIGHT)),
	KEY("size_weight", INT, size_weight, .initial = "0",
	    RANGE(0, MAX_WEIGHT)),
	KEY("fairshare_weight", INT, fairshare_weight, .initial = "10",
	    RANGE(0, MAX_WEIGHT)),
	KEY("fairshare_half_life", TIME, fairshare_half_life, .initial = "7d",
	    RANGE(1, CENTURY_S)),
	KEY("consolidate", BOOL, consolidate, .initial = "yes"),
	KEY("resume_cooldown", TIME, resume_cooldown, .initial = "2m",
	    RANGE(0, CENTURY_S)),
	KEY("max_evictions_per_hour", INT, max_evictions_per_hour,
	    .initial = "4", RANGE(0, LIMIT_EVICTIONS)),
	KEY("start_timeout", TIME, start_timeout, .initial = "5m",
	    RANGE(1, CENTURY_S)),
	KEY("evict_timeout", TIME, evict_timeout, .initial = "2m",
	    RANGE(1, CENTURY_S)),
	KEY("node_timeout", TIME, node_timeout, .initial = "2m",
	    RANGE(1, CENTURY_S)),
};
#undef AT

#define AT(member) offsetof(struct conf_cron, member)
static const struct conf_key cron_keys[] = {
	KEY("time_zone", TEXT, time_zone, .initial = ""),
	KEY("max", INT, max, .initial = "10000", RANGE(0, KEY_MAX_COUNT)),
	KEY("max_per_user", INT, max_per_user, .initial = "100",
	    RANGE(0, KEY_MAX_COUNT)),
	KEY("max_runs", INT, max_runs, .initial = "100",
	    RANGE(1, KEY_MAX_COUNT)),
	KEY("min_period", TIME, min_period, .initial = "1m",
	    RANGE(1, CENTURY_S)),
};
#undef AT

#define AT(member) offsetof(struct conf_accounting, member)
static const struct conf_key accounting_keys[] = {
	KEY("time_zone", TEXT, time_zone, .initial = ""),
	KEY("currency", TEXT, currency, .initial = "EUR", .special = true),
	KEY("charge", WORD, charge, .initial = "sum", .words = charges,
	    .special = true),
	KEY("sample", TIME, sample, .initial = "10s", RANGE(1, 86400)),
	KEY("hours_keep", UNTIL, hours_keep, .initial = "90d",
	    RANGE(30 * 86400, CENTURY_S)),
};
#undef AT

#define AT(member) offsetof(struct conf_health, member)
static const struct conf_key health_keys[] = {
	KEY("program", TEXT, program, .initial = "", .check = check_path),
	KEY("interval", TIME, interval, .initial = "5m", RANGE(1, CENTURY_S)),
	KEY("timeout", TIME, timeout, .initial = "30s", RANGE(1, CENTURY_S)),
};
#undef AT

#define AT(member) offsetof(struct conf_mail, member)
static const struct conf_key mail_keys[] = {
	KEY("command", TEXT, command, .initial = "", .check = check_path),
	KEY("from", TEXT, from, .initial = "", .check = mail_check_address),
	KEY("domains", LIST, domains, .check = conf_check_node_name),
	KEY("per_user", INT, per_user, .initial = "60",
	    RANGE(1, KEY_MAX_COUNT)),
	KEY("queue", INT, queue, .initial = "10000", RANGE(1, KEY_MAX_COUNT)),
};
#undef AT

#define AT(member) offsetof(struct conf_topology, member)
static const struct conf_key topology_keys[] = {
	KEY("levels", LIST, levels, .check = check_feature),
	KEY("labels", LIST, labels, .check = check_level_label),
};
#undef AT

#define AT(member) offsetof(struct conf_device, member)
static const struct conf_key device_keys[] = {
	KEY("resource", TEXT, resource, .check = check_resource),
	KEY("class", TEXT, class, .check = check_feature),
	KEY("driver", TEXT, driver, .check = check_feature),
	KEY("pci", LIST, pci, .check = check_pci),
	KEY("path", LIST, path, .check = check_path),
};
#undef AT

#define AT(member) offsetof(struct conf, member)
static const struct conf_key top_keys[] = {
	KEY("cluster", TEXT, cluster, .check = conf_check_name),
	KEY("state_dir", TEXT, state_dir, .check = check_path),
	KEY("tmp_dir", TEXT, tmp_dir, .initial = "/var/tmp",
	    .check = check_path),
	KEY("log_file", TEXT, log_file, .initial = "", .check = check_path),
	KEY("listen", LIST, listen, .check = check_listen),
	KEY("http", TEXT, http, .initial = "", .check = check_host_port),
	KEY("http_open", BOOL, http_open, .initial = "no"),
	KEY("http_hosts", LIST, http_hosts, .check = conf_check_node_name),
	KEY("http_socket", TEXT, http_socket, .initial = "",
	    .check = check_path),
	KEY("http_group", TEXT, http_group, .initial = "", .check = check_user),
	KEY("web_proxy_header", TEXT, web_proxy_header, .initial = "",
	    .check = check_header),
	KEY("web_proxy_users", LIST, web_proxy_users, .initial = "www-data",
	    .check = check_user),
	KEY("web_proxy_admins", BOOL, web_proxy_admins, .initial = "no"),
	KEY("metrics_access", WORD, metrics_access, .initial = "loopback",
	    .words = metrics_accesses),
	KEY("web_user", TEXT, web_user, .initial = "", .check = check_user),
	KEY("web_session", TIME, web_session, .initial = "12h",
	    RANGE(60, CENTURY_S)),
	KEY("munge_socket", TEXT, munge_socket, .initial = "",
	    .check = check_path),
	KEY("admins", LIST, admins, .initial = "root", .check = check_user),
	KEY("operators", LIST, operators, .check = check_user),
	KEY("private", LIST, private, .check = check_private),
	KEY("default_queue", TEXT, default_queue, .initial = "",
	    .check = conf_check_name),
	KEY("history_keep", UNTIL, history_keep, .initial = "180d",
	    RANGE(0, CENTURY_S)),
	KEY("max_script_size", BYTES, max_script_size, .initial = "4M",
	    RANGE(1, LIMIT_SCRIPT_MAX)),
	KEY("max_jobs", INT, max_jobs, .initial = "4000000",
	    RANGE(1, KEY_MAX_COUNT)),
	KEY("max_user_jobs", INT, max_user_jobs, .initial = "1000000",
	    RANGE(1, KEY_MAX_COUNT)),
	KEY("metrics_max_series", INT, metrics_max_series, .initial = "20000",
	    RANGE(1000, KEY_MAX_COUNT)),
	KEY("metrics_users", INT, metrics_users, .initial = "0",
	    RANGE(0, 1000)),
	KEY("max_processes", INT, max_processes, RANGE(1, KEY_MAX_COUNT)),
	KEY("propagate_limits", LIST, propagate_limits, .initial = "ALL"),
	KEY("licenses", FREE, licenses, RANGE(0, KEY_MAX_COUNT),
	    .table =
	        &(const struct conf_key_table){ NULL, 0,
	                                        sizeof(struct conf_license) }),
	KEY("topology", GROUP, topology,
	    .table = TABLE(topology_keys, struct conf_topology)),
	KEY("scheduling", GROUP, scheduling,
	    .table = TABLE(scheduling_keys, struct conf_scheduling)),
	KEY("cron", GROUP, cron, .table = TABLE(cron_keys, struct conf_cron)),
	KEY("accounting", GROUP, accounting,
	    .table = TABLE(accounting_keys, struct conf_accounting)),
	KEY("price", GROUP, price, .table = TABLE(price_keys, int64_t[RES_N])),
	KEY("health_check", GROUP, health,
	    .table = TABLE(health_keys, struct conf_health)),
	KEY("mail", GROUP, mail, .table = TABLE(mail_keys, struct conf_mail)),
	KEY("class", TITLED, classes,
	    .table = TABLE(class_keys, struct conf_class)),
	KEY("pool", TITLED, pools, .table = TABLE(pool_keys, struct conf_pool)),
	KEY("device", TITLED, devices,
	    .table = TABLE(device_keys, struct conf_device)),
	KEY("node", TITLED, nodes, .table = TABLE(node_keys, struct conf_node)),
	KEY("scale", TITLED, scales,
	    .table = TABLE(scale_keys, struct conf_scale)),
	KEY("queue", TITLED, queues,
	    .table = TABLE(queue_keys, struct conf_queue)),
};
#undef AT

static const struct conf_key_table top_table = { top_keys, ARRAY_SIZE(top_keys),
	                                         sizeof(struct conf) };

const struct conf_key_table *conf_keys_of(const char *section)
{
	const struct conf_key *key = top_keys;

	if (!section)
		return &top_table;
	while (strcmp(key->name, section) != 0)
		key++;
	return key->table;
}

enum { MAX_NAMES = 256, MAX_NAME = 40 };

struct names {
	char text[MAX_NAMES][MAX_NAME];
	const char *name[MAX_NAMES + 1];
	size_t n;
};

static void add_names(struct names *names, const char *prefix,
                      const struct conf_key_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct conf_key *key = &table->key[i];
		char *text = names->text[names->n];
		char section[MAX_NAME + 1];

		assert(names->n < MAX_NAMES);
		snprintf(text, MAX_NAME, "%s%s", prefix, key->name);
		names->name[names->n++] = text;
		if (!key->table)
			continue;
		snprintf(section, sizeof(section), "%s.", text);
		add_names(names, section, key->table);
	}
}

const char *const *conf_key_names(void)
{
	static struct names names; /* built by the first call */

	if (!names.n)
		add_names(&names, "", &top_table);
	return names.name;
}
