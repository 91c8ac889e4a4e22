#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/conf/conf.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

static struct conf *must_parse(const char *text, struct buf *warnings)
{
	struct err err;
	struct conf *conf = conf_parse(text, "t", warnings, &err);

	ck_assert_msg(conf != NULL, "%s", err.text);
	return conf;
}

/* --- refused files -------------------------------------------------------- */

static const struct {
	const char *name, *text, *want;
} bad[] = {
	{ "an unknown key", "\nclustr = x", "t:2: no such option 'clustr'" },
	{ "an unknown key of a section", "queue q {\n qouta { } }",
	  "t:2: queue 'q': no such option 'qouta'" },
	{ "a line after comments", "# a\n/* b\n c */\n// d\nx = 1",
	  "t:5: no such option 'x'" },
	{ "a key twice", "cluster = a\ncluster = b",
	  "t:2: cluster is given twice" },
	{ "a list twice", "admins = {a, b}\nadmins = {c}",
	  "t:2: admins is given twice" },
	{ "a queue twice", "queue q { }\nqueue q { }",
	  "t:2: queue 'q' is declared twice" },
	{ "two queues twice",
	  "queue b { } queue a { }\nqueue b { }\nqueue a { }",
	  "t:2: queue 'b' is declared twice" },
	{ "a section twice", "scheduling { }\nscheduling { }",
	  "t:2: scheduling is given twice" },
	{ "licenses twice", "licenses { }\nlicenses { }",
	  "t:2: licenses is given twice" },
	{ "a limit twice", "queue q { limit { }\nlimit { } }",
	  "t:2: queue 'q': limit is given twice" },
	{ "a section without title", "queue { }",
	  "t:1: missing title for section 'queue'" },
	{ "a section that is a key", "cluster { }",
	  "t:1: missing equal sign after option 'cluster'" },
	{ "no such limit", "\npropagate_limits = {CORE, FILES}",
	  "t:2: propagate_limits: bad limit 'FILES': use AS, CORE, CPU, "
	  "DATA, FSIZE, MEMLOCK, NOFILE, NPROC, RSS and STACK, or ALL or NONE "
	  "alone" },
	{ "a list for a text", "cluster = {a}", "t:1: unexpected token '{'" },
	{ "no value", "cluster =", "t:1: premature end of file" },

	{ "a section that is not closed", "queue a {\nstate = open\n",
	  "t:1: the '{' that opens here is not closed" },
	{ "a brace too many", "queue a { }\n}", "t:2: '}' without '{'" },
	{ "a string that is not closed", "\ncluster = \"a\nstate_dir = \"/b\"",
	  "t:2: a string ends without '\"'" },
	{ "a string in single quotes that is not closed", "cluster = 'a",
	  "t:1: a string ends without \"'\"" },
	{ "a comment that is not closed", "\n/* a\n\n",
	  "t:2: the comment that begins here has no '*/'" },
	{ "a character that would vanish", "state_dir = /a*b",
	  "t:1: character '*' out of place; put text in quotes" },
	{ "a path into a section", "queue q { }\nqueue|max_jobs = 3",
	  "t:2: character '|' out of place; put text in quotes" },
	{ "a key in quotes", "\"queue|max_jobs\" = 3",
	  "t:1: names of keys and sections are written without quotes" },
	{ "a section in quotes", "\"queue\" { }",
	  "t:1: names of keys and sections are written without quotes" },
	{ "an escape nobody knows", "cluster = \"\\777\"",
	  "t:1: only \\\", \\\\ and \\$ may follow a backslash in double "
	  "quotes" },
	{ "a page that others reach", "\nhttp = \"0.0.0.0:7118\"",
	  "t:2: http: '0.0.0.0:7118' is no loopback address, and the page has "
	  "no TLS: use 127.0.0.1:PORT, or set http_open = yes" },
	{ "a proxy that names nobody", "\nhttp_socket = \"/s\"",
	  "t:2: http_socket: set web_proxy_header, too: the header in which the "
	  "proxy names its user" },
	{ "a proxy that comes nowhere", "\nweb_proxy_header = X-Remote-User",
	  "t:2: web_proxy_header: set http_socket, too: only a proxy that comes "
	  "there is believed" },
	{ "a proxy of nobody",
	  "http_socket = \"/s\" web_proxy_header = X\nweb_proxy_users = {}",
	  "t:1: http_socket: set web_proxy_users, too: the users as whom the "
	  "proxy may run" },
	{ "a header that is none", "web_proxy_header = \"X: Y\"",
	  "t:1: web_proxy_header: bad header 'X: Y': use a name like "
	  "X-Remote-User" },
	{ "a variable without end", "cluster = \"${A\" http = \"}\"",
	  "t:1: '${' without '}'; write \\${ for these characters" },
	{ "a control character", "cluster = 'a\tb'",
	  "t:1: cluster: a control character in 'a?b'" },
	{ "a call of nothing", "cluster = a(b)",
	  "t:1: '(' belongs to include(\"PATTERN\") only; put text in "
	  "quotes" },
	{ "an include of nothing", "include()",
	  "t:1: use include(\"PATTERN\")" },
	{ "an include of two", "include(\"a\", \"b\")",
	  "t:1: use include(\"PATTERN\")" },
	{ "an include in a section", "queue q { include(\"/none\") }",
	  "t:1: queue 'q': no such option 'include'" },
	{ "an include that is not there", "\ninclude(\"/none/x\")",
	  "t:2: cannot read '/none/x': No such file or directory" },
	{ "an include of a folder", "include(\"/dev\")",
	  "t:1: cannot read '/dev': not a regular file" },

	{ "a bad name", "cluster = \"a b\"",
	  "t:1: cluster: bad name 'a b': use up to 63 letters, digits, '.', "
	  "'_' and '-', a letter or digit first" },
	{ "a bad title", "queue \"a,b\" { }",
	  "t:1: queue: bad name 'a,b': use up to 63 letters, digits, '.', "
	  "'_' and '-', a letter or digit first" },
	{ "a relative state_dir", "state_dir = x",
	  "t:1: state_dir: bad path 'x': use one that begins with /" },
	{ "a bad address", "listen = {/a,\n tcp://localhost}",
	  "t:1: listen: bad address 'localhost': use HOST:PORT, like "
	  "127.0.0.1:7118" },
	{ "an address of another kind", "listen = udp://a:1",
	  "t:1: listen: bad address 'udp://a:1': use the path of a socket of "
	  "less than 108 bytes, or tcp://HOST:PORT" },
	{ "an empty text in a list", "operators = {\"\"}",
	  "t:1: operators: an empty text in a list" },
	{ "a bad user", "admins = \"@\"",
	  "t:1: admins: bad name '@': use that of a user, or @GROUP" },
	{ "a text for a number", "max_jobs = many",
	  "t:1: max_jobs: bad number 'many': use a whole number from 1 to "
	  "1000000000" },
	{ "a negative count", "queue q { max_jobs = -1 }",
	  "t:1: queue 'q': max_jobs: bad number '-1': use a whole number from "
	  "0 to 1000000000" },
	{ "a fraction too fine", "queue q { limit { gpus = 0.0005 } }",
	  "t:1: queue 'q': limit.gpus: bad number '0.0005': use a number from "
	  "0 to 4194304 with at most three decimals" },
	{ "an unknown unit", "queue q { limit { memory = 12X } }",
	  "t:1: queue 'q': limit.memory: bad size '12X': use a number and K, "
	  "M, G or T, like 512M or 1.5G" },
	{ "a script size above the ceiling", "max_script_size = 33M",
	  "t:1: max_script_size: bad value '33M': use 1 to 32M" },
	{ "too few hours", "accounting { hours_keep = 29d }",
	  "t:1: accounting.hours_keep: bad value '29d': use 30d to 36500d" },
	{ "a time of no unit", "history_keep = 3y",
	  "t:1: history_keep: bad time '3y': use minutes, min:sec, h:m:s, "
	  "d-h:m:s, 90s, 12h, 3d or UNLIMITED" },
	{ "a grace without end", "queue q { grace = UNLIMITED }",
	  "t:1: queue 'q': grace: bad value 'UNLIMITED': use 0s to 36500d" },
	{ "no such word", "pool p { runner = slurm }",
	  "t:1: pool 'p': runner: bad value 'slurm': use none, local or "
	  "kubernetes" },
	{ "no such state", "queue q { state = shut }",
	  "t:1: queue 'q': state: bad value 'shut': use open or closed" },
	{ "neither yes nor no", "scheduling { backfill = maybe }",
	  "t:1: scheduling.backfill: bad value 'maybe': use yes or no" },
	{ "a negative licence", "licenses {\n a = -1 }",
	  "t:1: licenses.a: bad number '-1': use a whole number from 0 to "
	  "1000000000" },

	{ "an unknown parent", "queue a {\nparent = b }",
	  "t:2: queue 'a': parent: there is no queue 'b'" },
	{ "its own parent", "queue a { parent = a }",
	  "t:1: queue 'a': parent: 'a' is itself below 'a'" },
	{ "a circle of parents",
	  "queue x { parent = b }\nqueue a { parent = c }\n"
	  "queue b { parent = a }\nqueue c { parent = b }",
	  "t:2: queue 'a': parent: 'c' is itself below 'a'" },
	{ "an unknown pool of a queue", "queue q { pools = {here, x} }",
	  "t:1: queue 'q': pools: there is no pool 'x'" },
	{ "an unknown class", "queue q { class = fast }",
	  "t:1: queue 'q': there is no class 'fast'" },
	{ "an unknown class among several",
	  "queue q {\n classes = {train, fast} }",
	  "t:2: queue 'q': classes: there is no class 'fast'" },
	{ "a class that a queue above does not allow",
	  "queue p { classes = {train} }\n"
	  "queue q { parent = p  class = inference }",
	  "t:2: queue 'q': its class 'inference' is not among the classes of "
	  "queue 'p'" },
	{ "more time than allowed",
	  "queue q { max_time = 1h\n default_time = 2h }",
	  "t:2: queue 'q': default_time is more than max_time" },
	{ "an unknown default queue", "default_queue = x",
	  "t:1: default_queue: there is no queue 'x'" },
	{ "a default queue that takes no jobs",
	  "default_queue = a queue a { } queue b { parent = a }",
	  "t:1: default_queue: 'a' takes no jobs, there are queues below it" },

	{ "a template that does not say how many",
	  "pool p { runner = none } scale s { cpus = 1  memory = 1G }",
	  "t:1: scale 's': max is not given" },
	{ "a template without CPUs",
	  "pool p { runner = none } scale s { max = 1  memory = 1G }",
	  "t:1: scale 's': cpus is not given" },
	{ "a template without memory",
	  "pool p { runner = none } scale s { max = 1  cpus = 1 }",
	  "t:1: scale 's': memory is not given" },
	{ "a template of this machine",
	  "scale s { max = 1  cpus = 1  memory = 1G }",
	  "t:1: scale 's': pool 'here' is this machine, to which no nodes can "
	  "be added" },
	{ "a template of one pool of several",
	  "pool p { runner = none } pool q { runner = none }\n"
	  "scale s { max = 1  cpus = 1  memory = 1G }",
	  "t:2: scale 's': pool is not given, and there are several" },
	{ "a template without a program",
	  "pool p { runner = kubernetes  namespace = n  image = i }\n"
	  "scale s { max = 1  cpus = 1  memory = 1G  resume = \"/bin/true\" }",
	  "t:2: scale 's': suspend is not given" },
	{ "a template whose stand-ins have no label",
	  "pool p { runner = kubernetes  namespace = n  image = i }\n"
	  "scale s { max = 1  cpus = 1  memory = 1G  by = standin }",
	  "t:2: scale 's': labels is not given; by = standin knows its nodes by "
	  "them" },
	{ "a template of ProvisioningRequests without a label",
	  "pool p { runner = kubernetes  namespace = n  image = i }\n"
	  "scale s { max = 1  cpus = 1  memory = 1G  by = provisioning }",
	  "t:2: scale 's': labels is not given; by = provisioning knows its "
	  "nodes by them" },
	{ "a template of stand-ins with a program",
	  "pool p { runner = kubernetes  namespace = n  image = i }\n"
	  "scale s { max = 1  cpus = 1  memory = 1G  by = standin\n"
	  "suspend = \"/bin/true\" }",
	  "t:3: scale 's': suspend is given, but by = standin runs no program" },
	{ "a template of stand-ins with GPUs by claims",
	  "pool p { runner = kubernetes  namespace = n  image = i\n"
	  "devices = dra }\n"
	  "scale s { max = 1  cpus = 1  memory = 1G  gpus = 1  by = standin\n"
	  "labels = {\"group=gpu\"} }",
	  "t:3: scale 's': by = standin cannot request GPUs in pool 'p', which "
	  "has devices = dra" },
	{ "a template of stand-ins with a long name",
	  "pool p { runner = kubernetes  namespace = n  image = i }\n"
	  "scale abcdefghijklmnopqrstuvwxy { max = 1  cpus = 1  memory = 1G\n"
	  "by = standin  labels = {\"group=gpu\"} }",
	  "t:2: scale 'abcdefghijklmnopqrstuvwxy': with by = standin the name "
	  "may have 24 characters, and not end with '-'" },
	{ "a template with a bad label",
	  "pool p { runner = none }\n"
	  "scale s { max = 1  cpus = 1  memory = 1G  labels = {\"a=b=c\"} }",
	  "t:2: scale 's': labels: bad label 'a=b=c': use KEY=VALUE or KEY" },
	{ "a template of GPUs without GPUs",
	  "pool p { runner = none }\n"
	  "scale s { max = 1  cpus = 1  memory = 1G  gpu_type = x }",
	  "t:2: scale 's': gpu_type is given, but no gpus" },
	{ "a template whose nodes cannot have such names",
	  "pool p { runner = none } scale Big_ { max = 1  cpus = 1 }",
	  "t:1: scale 'Big_': the name may have small letters, digits and '-' "
	  "only" },
	{ "a template twice",
	  "pool p { runner = none }\n"
	  "scale s { max = 1  cpus = 1  memory = 1G }\n"
	  "scale s { max = 1  cpus = 1  memory = 1G }",
	  "t:3: scale 's' is declared twice" },
	{ "too many nodes of templates",
	  "pool p { runner = none }\n"
	  "scale s { max = 65536  cpus = 1  memory = 1G }\n"
	  "scale t { max = 1  cpus = 1  memory = 1G }",
	  "t:3: more than 65536 nodes" },
	{ "a template without promises",
	  "pool p { runner = none } scheduling { backfill = no }\n"
	  "scale s { max = 1  cpus = 1  memory = 1G }",
	  "t:2: scale 's': needs scheduling.backfill" },
	{ "a template at a place that does not exist",
	  "pool p { runner = none }\n"
	  "scale s { max = 1  cpus = 1  memory = 1G  topology = \"a/b\" }",
	  "t:2: scale 's': topology 'a/b' has 2 parts, but topology.levels has "
	  "0" },

	{ "two local pools",
	  "pool a { runner = local }\n"
	  "pool b { runner = local }",
	  "t:2: pool 'b': runner = local is that of pool 'a' already" },
	{ "a namespace twice", "pool a { namespaces = {x, y, x} }",
	  "t:1: pool 'a': namespaces: 'x' is named twice" },
	{ "a first namespace that is not among several",
	  "pool a { namespaces = {x, y}\n namespace = z }",
	  "t:2: pool 'a': namespace 'z' is not among its namespaces" },
	{ "a namespace of a queue that one of its pools does not have",
	  "pool a { runner = kubernetes namespaces = {x, y} }\n"
	  "pool b { runner = kubernetes namespace = x }\n"
	  "queue p { pools = {a} } queue q { parent = p namespace = y }\n"
	  "queue r { namespace = y }",
	  "t:4: queue 'r': namespace 'y' is not among those of pool 'b'" },
	{ "an unknown pool of a node", "node n { pool = x }",
	  "t:1: node 'n': pool: there is no pool 'x'" },
	{ "one pool of several", "pool a { } pool b { } node n { }",
	  "t:1: node 'n': pool is not given, and there are several" },
	{ "a node twice", "node n[0-3] { }\nnode m { }\nnode n2 { }",
	  "t:3: node 'n2' is declared twice" },
	{ "a node twice in one title", "node \"a,a\" { }",
	  "t:1: node 'a' is declared twice" },
	{ "a bad host list", "node n[3-1] { }",
	  "t:1: node: bad host list 'n[3-1]': a range that ends before it "
	  "begins at character 3" },
	{ "a node of another pool", "node \"a/b\" { }",
	  "t:1: node 'a/b': its pool is 'here'" },
	{ "a node twice", "node n { } node here/n { }",
	  "t:1: node 'n' is declared twice" },
	{ "a bad node name", "node \"a+b\" { }",
	  "t:1: bad node name 'a+b': use up to 253 letters, digits, '.', '_' "
	  "and '-', a letter or digit first" },
	{ "too many GPUs", "node n { gpus = 65 }",
	  "t:1: node 'n': gpus: bad number '65': use a whole number from 0 to "
	  "64" },
	{ "no CPUs", "node n { cpus = 0 }",
	  "t:1: node 'n': cpus: bad number '0': use a whole number from 1 to "
	  "65535" },
	{ "more reserved than there is",
	  "node n { cpus = 2\n reserve_cpus = 2.5 }",
	  "t:2: node 'n': reserve_cpus is more than cpus" },
	{ "more memory reserved than there is",
	  "node n { memory = 2G\n reserve_memory = 3G }",
	  "t:2: node 'n': reserve_memory is more than memory" },
	{ "places that do not divide the nodes",
	  "node n[0-3] { topology = \"r[0-2]\" }",
	  "t:1: node 'n[0-3]': topology has 3 places, which do not divide 4 "
	  "nodes evenly" },
	{ "a place deeper than the levels",
	  "topology { levels = {rack} } node n {\n topology = \"b0/r1\" }",
	  "t:2: node 'n': topology 'b0/r1' has 2 parts, but topology.levels "
	  "has 1" },
	{ "a place without a name",
	  "topology { levels = {zone, rack} } node n { topology = \"/r1\" }",
	  "t:1: node 'n': topology '/r1' has an empty part" },
	{ "a level that no node has",
	  "topology {\n levels = {zone, rack} } node n { topology = z }",
	  "t:2: topology.levels: no node has the level 'rack'" },
	{ "a level that is there twice",
	  "topology { levels = {rack, zone, rack} }",
	  "t:1: topology.levels: 'rack' is given twice" },
	{ "a label of no level",
	  "topology { levels = {rack} labels = {\"row=a/b\"} }",
	  "t:1: topology.labels: 'row=a/b': there is no such level" },
	{ "two labels of a level",
	  "topology { levels = {rack}\n labels = {\"rack=a\", \"rack=b\"} }",
	  "t:2: topology.labels: 'rack' is given a label twice" },
	{ "a level without a label",
	  "topology { levels = {rack} labels = {rack} }",
	  "t:1: topology.labels: 'rack': use LEVEL=LABEL" },
	{ "a label with a space",
	  "topology { levels = {rack} labels = {\"rack=a b\"} }",
	  "t:1: topology.labels: bad word 'a b': use letters, digits, '.', "
	  "'_', '-' and '/', a letter or digit first" },
	{ "more sockets than CPUs", "node n { cpus = 1 sockets = 2 }",
	  "t:1: node 'n': more sockets than cpus" },
	{ "a NUMA node for each GPU but one",
	  "node n { gpus = 4 gpu_numa = {0,0,1} }",
	  "t:1: node 'n': gpu_numa has 3 numbers for 4 GPUs" },
	{ "a NUMA node that is no number",
	  "node n { gpus = 2 gpu_numa = {0,x} }",
	  "t:1: node 'n': gpu_numa: bad number 'x': use a whole number from 0 "
	  "to 63" },
	{ "a NUMA node beyond the sockets",
	  "node n { gpus = 4 sockets = 2 gpu_numa = {0,0,1,2} }",
	  "t:1: node 'n': gpu_numa: there is no NUMA node 2: sockets is 2, and "
	  "numbers begin at 0" },
	{ "devices that are GPUs",
	  "device a { resource = nvidia.com/gpu }\n"
	  "pool p { runner = kubernetes }",
	  "t:2: pool 'p': resource 'nvidia.com/gpu' of device 'a' is that of "
	  "the pool's GPUs (gpu_resource)" },
	{ "partitions of an unknown model", "node n { mig = \"v100\" }",
	  "t:1: node 'n': mig: unknown model 'v100': use one of a100-40, "
	  "a100-80, h100-80, h100-94, h100-96, h200-141, gh200-144, b200-180, "
	  "a30" },
	{ "partitions in a pool with a runner",
	  "pool p { runner = local }\nnode n { mig = \"a30\" }",
	  "t:2: node 'n': mig: its pool has a runner; only the nodes of aisim "
	  "have partitions by it" },
	{ "partitions for good in a pool with a runner",
	  "pool p { runner = local }\nnode n { mig_fixed = {\"0:1g.6gb\"} }",
	  "t:2: node 'n': mig_fixed: its pool has a runner; only the nodes of "
	  "aisim have partitions by it" },
	{ "partitions of no GPU",
	  "pool p { }\nnode n { gpus = 2 mig_fixed = {\"2:1g.6gb\"} }",
	  "t:2: node 'n': mig_fixed: '2:1g.6gb' names no GPU of it: use "
	  "GPU:PARTITIONS, like 0:1g.10gb*7" },
	{ "partitions of a GPU twice",
	  "pool p { }\nnode n { mig_fixed = {\"0:1g.6gb\", \"0:2g.12gb\"} }",
	  "t:2: node 'n': mig_fixed: GPU 0 is given twice" },
	{ "an unknown partition for good",
	  "pool p { }\nnode n { mig_fixed = {\"0:1g.7gb\"} }",
	  "t:2: node 'n': mig_fixed: GPU 0: there is no MIG profile '1g.7gb'" },
	{ "partitions that overlap",
	  "pool p { }\nnode n { mig_fixed = {\"0:3g.40gb@0,1g.10gb@3\"} }",
	  "t:2: node 'n': mig_fixed: GPU 0: partition '1g.10gb@3' has no place "
	  "on its GPU" },
	{ "partitions for good of another model",
	  "pool p { }\nnode n { mig = \"a30\" mig_fixed = {\"0:3g.40gb\"} }",
	  "t:2: node 'n': mig_fixed: GPU 0 has no partitions of a30" },
	{ "memory of another model",
	  "node n { mig = \"a30\" gpu_memory = 80G }",
	  "t:1: node 'n': gpu_memory is not that of a30" },
	{ "link groups with a gap", "node n { gpus = 2 gpu_links = {0,2} }",
	  "t:1: node 'n': gpu_links has gaps: number from 0" },
	{ "memory of more NUMA nodes than sockets",
	  "node n { sockets = 2 numa_memory = {1G,1G,1G} }",
	  "t:1: node 'n': numa_memory has 3 sizes for 2 sockets" },
	{ "devices that are not declared",
	  "device rdma { }\nnode n {\n devices = {\"rdma:2\", \"nic\"} }",
	  "t:3: node 'n': devices: there is no device 'nic'" },
	{ "devices without number", "node n { devices = \"rdma:x\" }",
	  "t:1: node 'n': devices: bad devices 'rdma:x': use NAME[:N] or "
	  "NAME:N:roots=ROOT,..." },
	{ "roots for other devices",
	  "device d { }\nnode n { devices = \"d:2:roots=0\" }",
	  "t:2: node 'n': devices: 'd:2:roots=0': roots needs 2 numbers from 0 "
	  "to 63, separated by commas" },
	{ "a place in a node section",
	  "device d { }\nnode n { devices = \"d:2:pcie\" }",
	  "t:2: node 'n': devices: 'd:2:pcie': only requests say :pcie or "
	  ":numa" },
	{ "roots of other GPUs", "node n { gpus = 2 gpu_roots = {0} }",
	  "t:1: node 'n': gpu_roots has 1 numbers for 2 GPUs" },
	{ "roots that a runner finds",
	  "pool p { runner = local }\nnode n { gpus = 1 gpu_roots = {0} }",
	  "t:2: node 'n': its pool has a runner, which finds the PCIe roots; "
	  "only the nodes of aisim have them by the configuration" },
	{ "a resource without domain", "device rdma { resource = \"hca\" }",
	  "t:1: device 'rdma': resource: bad resource 'hca': give its domain, "
	  "as in rdma/hca" },
	{ "a driver without class", "device rdma { driver = \"d\" }",
	  "t:1: device 'rdma': driver without class" },
	{ "a class and a resource",
	  "device rdma { class = \"c\" resource = \"rdma/hca\" }",
	  "t:1: device 'rdma': nodes have it by class or by resource: give one "
	  "of them" },
	{ "two kinds of one driver",
	  "device a { class = \"c\" }\ndevice b { class = \"e\" driver = \"c\" }",
	  "t:2: device 'b': driver 'c' is that of device 'a' already" },
	{ "a driver of GPUs and devices",
	  "device a { class = \"gpu.nvidia.com\" }\n"
	  "pool p { runner = kubernetes }",
	  "t:2: pool 'p': driver 'gpu.nvidia.com' is that of device 'a': name "
	  "the driver of the pool's GPUs in device_driver, or set devices = "
	  "plugin" },
	{ "a pattern that is no path", "device rdma { path = \"uverbs*\" }",
	  "t:1: device 'rdma': path: bad path 'uverbs*': use one that begins "
	  "with /" },
	{ "a device without vendor", "device rdma { pci = \"101b\" }",
	  "t:1: device 'rdma': pci: bad PCI device '101b': use VENDOR:DEVICE, "
	  "as in 15b3:101b or 15b3:*" },
	{ "too many kinds of devices",
	  "device a { } device b { } device c { } device d { } device e { }\n"
	  "device f { } device g { } device h { }\ndevice i { }",
	  "t:3: more than 8 device sections" },
	{ "a device twice", "device a { }\ndevice a { }",
	  "t:2: device 'a' is declared twice" },
	{ "no folder to mount",
	  "pool p { runner = kubernetes\n"
	  "  allow_mounts = foo }",
	  "t:2: pool 'p': allow_mounts: 'foo' allows nothing: use /FOLDER or "
	  "pvc:CLAIM" },
	{ "a bad taint", "node n { taints = {\"a=b=c\"} }",
	  "t:1: node 'n': taints: bad taint 'a=b=c': use KEY=VALUE or KEY" },
};

START_TEST(bad_case)
{
	struct err err = { 0 };
	struct conf *conf = conf_parse(bad[_i].text, "t", NULL, &err);

	ck_assert_msg(!conf, "%s: accepted", bad[_i].name);
	ck_assert_msg(!strcmp(err.text, bad[_i].want), "%s: got %s",
	              bad[_i].name, err.text);

	/* libconfuse's scanner has global state: check that the error does not
	 * affect the next file. */
	conf_free(must_parse("cluster = next", NULL));
}
END_TEST

/* --- suspicious files ----------------------------------------------------- */

static const struct {
	const char *name, *text, *want;
} odd[] = {
	{ "nothing", "queue q { max_jobs = 3 limit { gpus = 4 } }", "" },
	{ "levels that nothing has yet", "topology { levels = {rack} }",
	  "t:1: topology.levels: no node has them\n" },
	{ "levels that are labels in Kubernetes",
	  "topology { levels = {\"topology.kubernetes.io/zone\", rack} }\n"
	  "pool p { runner = kubernetes } node n { topology = z }",
	  "" },
	{ "labels that no node can have",
	  "topology { levels = {rack} labels = {\"rack=a/b\"} }\n"
	  "node n { topology = r }",
	  "t:1: topology.labels: no pool has nodes with labels\n" },
	{ "a pool of Kubernetes",
	  "pool p { runner = kubernetes\n log_limit = 1M }", "" },
	{ "a page", "http = \"127.0.0.1:1\"", "" },
	{ "a page for others", "http = \"h:1\" http_open = yes", "" },
	{ "a limit below the quota",
	  "queue q { quota { cpus = 2 gpus = 3 }\n limit { gpus = 2 } }",
	  "t:1: queue 'q': limit.gpus is below quota.gpus\n" },
	{ "sockets of unequal size", "node n { cpus = 4 sockets = 3 }",
	  "t:1: node 'n': its 4 CPUs are not divided evenly among 3 sockets\n" },
	{ "more memory in NUMA nodes than there is",
	  "node n { memory = 4G numa_memory = {2G, 3G} }",
	  "t:1: node 'n': numa_memory is 5120 MiB in all, but memory is 4096 "
	  "MiB: the difference is taken from all NUMA nodes evenly\n" },
	{ "children above their parent",
	  "queue a { parent = c quota { memory = 3G } }\n"
	  "queue b { parent = c quota { memory = 2G } }\n"
	  "queue c { quota { memory = 4G } }",
	  "t:3: queue 'c': quota.memory is less than those of the queues below "
	  "it together\n" },
};

START_TEST(odd_case)
{
	struct buf warnings = { 0 };
	struct conf *conf;

	buf_puts(&warnings, "");
	conf = must_parse(odd[_i].text, &warnings);
	ck_assert_msg(!strcmp(warnings.data, odd[_i].want), "%s: got %s",
	              odd[_i].name, warnings.data);
	conf_free(conf);
	buf_free(&warnings);
}
END_TEST

/* --- values -------------------------------------------------------------- */

START_TEST(everything_has_a_default)
{
	struct conf *conf = must_parse("", NULL);
	const struct conf_queue *queue = conf->queues;

	ck_assert_ptr_null(conf->path);
	ck_assert(*conf->cluster);
	ck_assert_int_eq(*conf->state_dir, '/');
	ck_assert_uint_eq(conf->listen.n, 1);
	ck_assert_int_eq(*conf->listen.s[0], '/');
	ck_assert_str_eq(conf->admins.s[0], "root");
	ck_assert_str_eq(conf->http, "");
	ck_assert_str_eq(conf->munge_socket, "");
	ck_assert_int_eq(conf->history_keep, 180 * 86400);
	ck_assert_int_eq(conf->max_script_size, LIMIT_SCRIPT);
	ck_assert_uint_eq(conf->nclasses, 3);
	ck_assert_int_eq(conf->classes[2].priority, 125);
	ck_assert(conf->classes[0].preemptible);
	ck_assert_uint_eq(conf->npools, 1);
	ck_assert_int_eq(conf->pools[0].runner, RUNNER_LOCAL);
	ck_assert_int_eq(conf->pools[0].order, ORDER_PACK);
	ck_assert_uint_eq(conf->nnodes, 0);
	ck_assert_uint_eq(conf->nqueues, 1);
	ck_assert_str_eq(queue->name, "default");
	ck_assert(queue->leaf && !queue->closed);
	ck_assert_uint_eq(queue->pools, 1);
	ck_assert_int_eq(queue->limit[RES_GPU], CONF_NONE);
	ck_assert_int_eq(queue->max_time, CONF_NONE);
	ck_assert_int_eq(queue->grace, 30);
	ck_assert_str_eq(queue->class, "train");
	ck_assert_int_eq(conf_default_queue(conf), 0);
	ck_assert(conf->scheduling.backfill);
	conf_free(conf);
}
END_TEST

static const char full[] =
    "cluster = \"demo\" listen = {/a, \"tcp://[::1]:7117\"} admins = {}\n"
    "operators = \"@ops\" history_keep = UNLIMITED max_script_size = 1.5M\n"
    "default_queue = b state_dir = '/s p \\'\"$' munge_socket = /m\n"
    "class train { priority = 60 } class own { preemptible = yes }\n"
    "licenses { matlab = 4 ansys = 0 } device rdma { } device fpga { }\n"
    "topology { levels = {zone, block, rack} "
    "labels = {\"block=example.com/pod\"} }\n"
    "pool sim { order = spread default_memory_per_cpu = 1.5G }\n"
    "pool k8s { runner = kubernetes allow_mounts = {\"pvc:*\", \"/${x}\"}\n"
    "  log_limit = 100 isolate_network = yes"
    "  run_as_root = yes }\n"
    "node \"n[00-07]\" { pool = sim cpus = 64 memory = 512G gpus = 8\n"
    "  gpu_type = h100 topology = \"z1/b1/r[0-3]\" features = {ib, ssd}\n"
    "  taints = {\"a=b\", c} weight = 7 reserve_cpus = 1.5 reserve_memory = 4G\ttmp = 2T }\n"
    "node \"b,a\" { pool = k8s devices = {\"fpga:2\"} }\n"
    "queue c { parent = b1 limit { cpus = 0.5 } }\n"
    "queue b1 { parent = a max_time = 2h default_time = 90 }\n"
    "queue a { limit { gpus = 0.5 memory = 1T } quota { gpus = 0 }\n"
    "  users = {ann, \"@v\"} pools = {k8s} default_time = 5h grace = 0\n"
    "  class = own min_runtime = 10m preempt = requeue }\n"
    "queue b { parent = a state = closed max_time = 3h max_jobs = 0\n"
    "  max_submit_per_user = 7 max_gpus_per_user = 1.25 grace = 90s }\n"
    "scheduling { consolidate = no backfill_depth = 7 }\n";

START_TEST(values_are_as_written)
{
	struct conf *conf = must_parse(full, NULL);
	const struct conf_queue *q = conf->queues;

	ck_assert_str_eq(conf->cluster, "demo");
	ck_assert_str_eq(conf->state_dir, "/s p '\"$");
	ck_assert_str_eq(conf->listen.s[1], "tcp://[::1]:7117");
	ck_assert_uint_eq(conf->admins.n, 0);
	ck_assert_int_eq(conf->history_keep, CONF_UNLIMITED);
	ck_assert_int_eq(conf->max_script_size, 3 << 19);
	ck_assert_uint_eq(conf->nclasses, 4);
	ck_assert_int_eq(conf->classes[0].priority, 60);
	ck_assert(conf->classes[0].preemptible);
	ck_assert_str_eq(conf->licenses[1].name, "ansys");
	ck_assert_int_eq(conf->licenses[0].count, 4);
	ck_assert_int_eq(conf->pools[0].runner, RUNNER_NONE);
	ck_assert_int_eq(conf->pools[0].order, ORDER_SPREAD);
	ck_assert_int_eq(conf->pools[0].default_memory_per_cpu, 1536);
	ck_assert_str_eq(conf->pools[1].allow_mounts.s[1], "/");

	/* Queues are in the order of the file, but after their parents. */
	ck_assert_uint_eq(conf->nqueues, 4);
	ck_assert_str_eq(q[0].name, "a");
	ck_assert_str_eq(q[1].name, "b1");
	ck_assert_str_eq(q[2].name, "c");
	ck_assert_str_eq(q[3].name, "b");
	ck_assert_int_eq(q[0].parent, -1);
	ck_assert_int_eq(q[2].parent, 1);
	ck_assert_int_eq(q[3].parent, 0);
	ck_assert(!q[0].leaf && !q[1].leaf && q[2].leaf && q[3].leaf);
	ck_assert_int_eq(q[3].line, 19);
	ck_assert_int_eq(conf_default_queue(conf), 3);

	ck_assert_int_eq(q[0].limit[RES_GPU], 500);
	ck_assert_int_eq(q[0].limit[RES_MEM], 1 << 20);
	ck_assert_int_eq(q[0].limit[RES_CPU], CONF_NONE);
	ck_assert_int_eq(q[0].quota[RES_GPU], 0);
	ck_assert_uint_eq(q[0].pools, 2);
	ck_assert_uint_eq(q[3].pools, 3);
	ck_assert(q[3].closed);
	ck_assert_int_eq(q[3].max_jobs, 0);
	ck_assert_int_eq(q[3].max_gpus_per_user, 1250);
	conf_free(conf);
}
END_TEST

START_TEST(queues_inherit_manners_not_restrictions)
{
	struct conf *conf = must_parse(full, NULL);
	const struct conf_queue *q = conf->queues;

	ck_assert_str_eq(q[2].class, "own");
	ck_assert_int_eq(q[2].grace, 0);
	ck_assert_int_eq(q[3].grace, 90);
	ck_assert_int_eq(q[3].preempt, PREEMPT_REQUEUE);
	ck_assert_int_eq(q[3].min_runtime, 600);
	ck_assert_int_eq(q[2].default_time, 90 * 60);
	ck_assert_int_eq(q[2].max_time, CONF_NONE);
	ck_assert_uint_eq(q[2].users.n, 0);
	/* The queue inherits 5 h from its parent, reduced to its own max_time
	 * of 3 h. */
	ck_assert_int_eq(q[3].default_time, 3 * 3600);
	conf_free(conf);
}
END_TEST

START_TEST(queues_run_in_namespaces_of_their_pools)
{
	struct conf *conf = must_parse(
	    "pool a { runner = kubernetes namespaces = {x, y, z} }\n"
	    "pool b { runner = kubernetes namespaces = {x, y} namespace = y }\n"
	    "pool c { runner = kubernetes } pool d { }\n"
	    "queue p { namespace = x pools = {a, b, d} }\n"
	    "queue q { parent = p }\n"
	    "queue r { parent = p namespace = z pools = {a, d} }\n"
	    "queue s { }\n",
	    NULL);
	const int q = conf_queue_find(conf, "q"),
		  r = conf_queue_find(conf, "r"),
		  s = conf_queue_find(conf, "s");

	ck_assert_str_eq(conf_namespace(conf, q, 0), "x");
	ck_assert_str_eq(conf_namespace(conf, q, 1), "x");
	ck_assert_str_eq(conf_namespace(conf, r, 0), "z");
	ck_assert_str_eq(conf_namespace(conf, s, 0), "x");
	ck_assert_str_eq(conf_namespace(conf, s, 1), "y");
	ck_assert_str_eq(conf_namespace(conf, s, 2), "aisched");
	ck_assert_uint_eq(conf->pools[0].spaces.n, 3);
	ck_assert_uint_eq(conf->pools[2].spaces.n, 1);
	ck_assert_str_eq(conf->pools[2].spaces.s[0], "aisched");
	conf_free(conf);
}
END_TEST

START_TEST(nodes_are_expanded_and_dealt_out)
{
	struct conf *conf = must_parse(full, NULL);
	const struct conf_node *n = conf->nodes;

	ck_assert_uint_eq(conf->nnodes, 10);
	ck_assert_str_eq(n[0].name, "n00");
	ck_assert_str_eq(n[7].name, "n07");
	ck_assert_uint_eq(conf->topology.keys.n, 3);
	ck_assert_str_eq(conf->topology.keys.s[0], "zone");
	ck_assert_str_eq(conf->topology.keys.s[1], "example.com/pod");
	ck_assert_str_eq(conf->topology.keys.s[2], "rack");
	ck_assert_str_eq(n[1].topology, "z1/b1/r0");
	ck_assert_str_eq(n[2].topology, "z1/b1/r1");
	ck_assert_str_eq(n[7].topology, "z1/b1/r3");
	ck_assert_int_eq(n[7].memory, 512 << 10);
	ck_assert_int_eq(n[7].gpus, 8);
	ck_assert_str_eq(n[7].gpu_type, "h100");
	ck_assert_str_eq(n[7].features.s[1], "ssd");
	ck_assert_str_eq(n[7].taints.s[0], "a=b");
	ck_assert_int_eq(n[7].reserve_cpus, 1500);
	ck_assert_int_eq(n[7].reserve_memory, 4096);
	ck_assert_int_eq(n[7].weight, 7);
	ck_assert_int_eq(n[7].tmp, 2 << 20);
	ck_assert_int_eq(n[8].weight, 1);
	ck_assert_int_eq(n[7].line, 10);
	ck_assert_int_eq(n[9].tmp, CONF_NONE);
	ck_assert_int_eq(n[9].devs.n[1], 2);
	ck_assert_int_eq(n[9].devs.n[0], 0);
	ck_assert_str_eq(n[8].name, "b");
	ck_assert_str_eq(n[9].name, "a");
	ck_assert_int_eq(n[9].pool, 1);
	ck_assert_int_eq(n[9].cpus, CONF_NONE);
	ck_assert_ptr_null(n[9].gpu_type);
	conf_free(conf);
}
END_TEST

START_TEST(variables_come_from_the_environment)
{
	struct conf *conf;

	setenv("CONF_TEST", "/from/env", 1);
	conf =
	    must_parse("state_dir = \"${CONF_TEST}/\\${x}${NONE:-y}\"", NULL);
	ck_assert_str_eq(conf->state_dir, "/from/env/${x}y");
	conf_free(conf);

	setenv("CONF_TEST", "/two\nlines", 1);
	ck_assert_ptr_null(
	    conf_parse("state_dir = \"${CONF_TEST}\"", "t", NULL, NULL));
}
END_TEST

static const char *const defaults[][2] = {
	{ "queue a { }", "a" },
	{ "queue a { } queue b { parent = a }", "b" },
	{ "queue a { } queue b { }", NULL },
	{ "queue a { } queue b { } default_queue = b", "b" },
};

START_TEST(default_queue_case)
{
	struct conf *conf = must_parse(defaults[_i][0], NULL);
	int i = conf_default_queue(conf);

	if (defaults[_i][1])
		ck_assert_str_eq(conf->queues[i].name, defaults[_i][1]);
	else
		ck_assert_int_eq(i, -1);
	conf_free(conf);
}
END_TEST

/* --- bounds -------------------------------------------------------------- */

static const struct {
	const char *section, *want;
	int n;
} many[] = {
	{ "pool", "t:65: more than 64 pools", LIMIT_POOLS },
	{ "queue", "t:4097: more than 4096 queues", LIMIT_QUEUES },
};

START_TEST(many_case)
{
	struct buf text = { 0 };
	struct err err;

	for (int i = 0; i < many[_i].n; i++)
		buf_printf(&text, "%s x%d { }\n", many[_i].section, i);
	conf_free(must_parse(text.data, NULL));
	buf_printf(&text, "%s y { }\n", many[_i].section);
	ck_assert_ptr_null(conf_parse(text.data, "t", NULL, &err));
	ck_assert_str_eq(err.text, many[_i].want);
	buf_free(&text);
}
END_TEST

START_TEST(nodes_are_bounded)
{
	struct err err;
	struct conf *conf = must_parse("node n[1-65535] { }\nnode m { }", NULL);

	ck_assert_uint_eq(conf->nnodes, LIMIT_NODES);
	conf_free(conf);
	conf =
	    conf_parse("node n[1-65535] { }\nnode m[1-2] { }", "t", NULL, &err);
	ck_assert_ptr_null(conf);
	ck_assert_str_eq(err.text, "t:2: more than 65536 nodes");
}
END_TEST

START_TEST(texts_are_bounded)
{
	struct buf text = { 0 };
	struct err err;

	buf_puts(&text, "pool p { image = ");
	for (int i = 0; i <= LIMIT_TEXT; i++)
		buf_addc(&text, 'x');
	buf_puts(&text, " }");
	ck_assert_ptr_null(conf_parse(text.data, "t", NULL, &err));
	ck_assert_str_eq(
	    err.text, "t:1: pool 'p': image: a text of more than 4096 bytes");
	buf_free(&text);
}
END_TEST

START_TEST(parents_may_be_deep)
{
	struct buf text = { 0 };
	struct conf *conf;

	/* In the file, each queue comes before its parent. */
	for (int i = LIMIT_QUEUES - 1; i > 0; i--)
		buf_printf(&text, "queue q%d { parent = q%d }\n", i, i - 1);
	buf_puts(&text, "queue q0 { }");
	conf = must_parse(text.data, NULL);
	for (int i = 0; i < LIMIT_QUEUES; i++)
		ck_assert_int_eq(conf->queues[i].parent, i - 1);
	conf_free(conf);
	buf_free(&text);
}
END_TEST

/* --- printing ------------------------------------------------------------ */

static const char *const printed[] = {
	"",
	full,
	"queue a { }",
	"node \"n[1-3],m2\" { cpus = 1 } node z { }",
	"node \"n2,n1\" { }",
	"class train { preemptible = no } class z { priority = -3 }",
	"pool a { } pool b { } node n1 { pool = a cpus = 1 } "
	"node \"b/n[1-2]\" { pool = b cpus = 2 } queue q { }",
	"class z { users = {ada, \"@staff\"} } "
	"queue q { class = z  classes = {train, z} }",
	"admins = {} operators = \"a\\\\b\" listen = {\"/a\\\"b\\${x}\"}",
	"queue q { limit { cpus = 0 memory = 1025M } max_time = 61 }",
	"pool a { } pool b { default_memory_per_cpu = 1T } queue q { }",
	"class c { } pool p { } device d { resource = \"r/d\" } device e { } "
	"node n { devices = {\"d:2\", e} } queue q { } "
	"scale s { pool = p cpus = 1 memory = 1G max = 1 by = program "
	"resume = \"/a\" suspend = \"/b\" }",
};

START_TEST(print_case)
{
	struct conf *conf = must_parse(printed[_i], NULL), *again;
	struct buf once = { 0 }, twice = { 0 }, warnings = { 0 };

	conf_print(conf, &once);
	again = must_parse(once.data, &warnings);
	conf_print(again, &twice);
	ck_assert_str_eq(once.data, twice.data);
	conf_free(conf);
	conf_free(again);
	buf_free(&once);
	buf_free(&twice);
	buf_free(&warnings);
}
END_TEST

START_TEST(print_says_nothing_suspicious_itself)
{
	struct conf *conf = must_parse("", NULL);
	struct buf text = { 0 }, warnings = { 0 };

	conf_print(conf, &text);
	conf_free(must_parse(text.data, &warnings));
	ck_assert_uint_eq(warnings.len, 0);
	conf_free(conf);
	buf_free(&text);
	buf_free(&warnings);
}
END_TEST

START_TEST(a_pool_that_leaves_is_kept_but_not_printed)
{
	struct conf *conf = must_parse("pool a { }", NULL);
	struct conf *old =
	    must_parse("pool b { runner = kubernetes kubeconfig = /k }", NULL);
	struct buf before = { 0 }, after = { 0 }, section = { 0 };

	conf_print(conf, &before);
	ck_assert_int_eq(conf_keep_pool(conf, &old->pools[0], NULL), 0);
	conf_own(conf, old);
	ck_assert_int_eq(conf_pool_find(conf, "b"), 1);
	ck_assert(conf->pools[1].leaving);
	ck_assert(!conf->pools[0].leaving);
	conf_print(conf, &after);
	ck_assert_str_eq(before.data, after.data);
	conf_print_pool(conf, &conf->pools[1], &section);
	old = must_parse(section.data, NULL);
	ck_assert_str_eq(old->pools[0].name, "b");
	ck_assert_str_eq(old->pools[0].kubeconfig, "/k");
	conf_own(conf, old);
	conf_free(conf);
	buf_free(&before);
	buf_free(&after);
	buf_free(&section);
}
END_TEST

START_TEST(print_is_for_people)
{
	struct conf *conf = must_parse(
	    "cluster = c state_dir = /s listen = /l "
	    "node n[00-15] { cpus = 4 memory = 2G } "
	    "queue q { max_time = 7d limit { gpus = 1.5 } weight = 1 }",
	    NULL);
	struct buf text = { 0 };

	conf_print(conf, &text);
	check_equal(
	    text.data,
	    "# All values in force; what is not here is not set.\n"
	    "cluster = \"c\"\n"
	    "state_dir = \"/s\"\n"
	    "tmp_dir = \"/var/tmp\"\n"
	    "listen = {\"/l\"}\n"
	    "http_open = no\n"
	    "web_proxy_users = {\"www-data\"}\n"
	    "web_proxy_admins = no\n"
	    "metrics_access = loopback\n"
	    "web_session = 12h\n"
	    "admins = {\"root\"}\n"
	    "history_keep = 180d\n"
	    "max_script_size = 4M\n"
	    "max_jobs = 4000000\n"
	    "max_user_jobs = 1000000\n"
	    "metrics_max_series = 20000\n"
	    "metrics_users = 0\n"
	    "propagate_limits = {\"ALL\"}\n"
	    "scheduling {\n"
	    "\torder = points\n"
	    "\tbackfill = yes\n\tbackfill_depth = 100\n\thold_after = 1d\n"
	    "\tage_weight = 1\n\tsize_weight = 0\n\tfairshare_weight = 10\n"
	    "\tfairshare_half_life = 7d\n\tconsolidate = yes\n"
	    "\tresume_cooldown = 2m\n\tmax_evictions_per_hour = 4\n"
	    "\tstart_timeout = 5m\n\tevict_timeout = 2m\n"
	    "\tnode_timeout = 2m\n}\n"
	    "cron {\n\tmax = 10000\n\tmax_per_user = 100\n"
	    "\tmax_runs = 100\n\tmin_period = 1m\n}\n"
	    "accounting {\n\tsample = 10s\n\thours_keep = 90d\n}\n"
	    "health_check {\n\tinterval = 5m\n\ttimeout = 30s\n}\n"
	    "mail {\n\tper_user = 60\n\tqueue = 10000\n}\n"
	    "\nclass \"train\" {\n\tpriority = 50\n\tpreemptible = yes\n}\n"
	    "\nclass \"interactive\" {\n\tpriority = 100\n"
	    "\tpreemptible = no\n}\n"
	    "\nclass \"inference\" {\n\tpriority = 125\n"
	    "\tpreemptible = no\n}\n"
	    "\npool \"here\" {\n\trunner = local\n\torder = pack\n"
	    "\tweight = 1\n}\n"
	    "\nnode \"n[00-15]\" {\n\tpool = \"here\"\n\tcpus = 4\n"
	    "\tmemory = 2G\n\treserve_cpus = 0\n\treserve_memory = 0M\n"
	    "\tweight = 1\n}\n"
	    "\nqueue \"q\" {\n\tstate = open\n\tlimit {\n\t\tgpus = 1.5\n\t}\n"
	    "\tweight = 1\n\tpriority = 0\n"
	    "\tpools = {\"here\"}\n\tmax_time = 7d\n\tmin_runtime = 0s\n"
	    "\tgrace = 30s\n\tpreempt = suspend\n"
	    "\tidle_gpu_action = notify\n"
	    "\tidle_gpu_opt_out = no\n"
	    "\tclass = \"train\"\n}\n");
	conf_free(conf);
	buf_free(&text);
}
END_TEST

/* --- files --------------------------------------------------------------- */

static char folder[] = "/tmp/test_conf.XXXXXX";

static void make_folder(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(mkdir("conf.d", 0700), 0);
}

static void remove_folder(void)
{
	static const char *const names[] = { "a.conf",        "conf.d/1.conf",
		                             "conf.d/2.conf", "conf.d/x",
		                             "conf.d",        folder };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		remove(names[i]);
}

static void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

#define ODD_QUEUE "quota { gpus = 3 } limit { gpus = 2 }"
#define ODD_WHY   "limit.gpus is below quota.gpus\n"

START_TEST(includes_are_sorted_and_relative)
{
	struct buf warnings = { 0 };
	struct conf *conf;
	struct err err;
	char *path;

	put_file("a.conf", "queue a { }\n"
	                   "include(\"conf.d/*.conf\") # both\n"
	                   "queue z { " ODD_QUEUE " }\n");
	put_file("conf.d/2.conf", "queue c { " ODD_QUEUE " }\n");
	put_file("conf.d/1.conf", "\n\ninclude('x') queue b { " ODD_QUEUE " }");
	put_file("conf.d/x", "queue x { }");
	conf = conf_load("a.conf", &warnings, &err);
	ck_assert_msg(conf != NULL, "%s", err.text);
	ck_assert_uint_eq(conf->nqueues, 5);
	ck_assert_str_eq(conf->queues[0].name, "a");
	ck_assert_str_eq(conf->queues[1].name, "x");
	ck_assert_str_eq(conf->queues[2].name, "b");
	ck_assert_str_eq(conf->queues[3].name, "c");
	ck_assert_str_eq(conf->queues[4].name, "z");
	ck_assert_str_eq(warnings.data, "conf.d/1.conf:3: queue 'b': " ODD_WHY
	                                "conf.d/2.conf:1: queue 'c': " ODD_WHY
	                                "a.conf:3: queue 'z': " ODD_WHY);
	path = xasprintf("%s/a.conf", folder);
	ck_assert_str_eq(conf->path, path);
	conf_free(conf);
	conf = conf_load(path, NULL, &err);
	ck_assert_ptr_nonnull(conf);
	ck_assert_str_eq(conf->path, path);
	conf_free(conf);
	free(path);
	buf_free(&warnings);
}
END_TEST

static const struct {
	const char *name, *outer, *inner, *want;
} files[] = {
	{ "inside", "include(\"conf.d/1.conf\")", "\n\nx = 1\n",
	  "conf.d/1.conf:3: no such option 'x'" },
	{ "inside, in the text", "include(\"conf.d/1.conf\")", "\n}\n",
	  "conf.d/1.conf:2: '}' without '{'" },
	{ "after", "include(\"conf.d/1.conf\")\nx = 1", "\n\n\n",
	  "a.conf:2: no such option 'x'" },
	{ "a key in two files", "cluster = a include(\"conf.d/*\")",
	  "\ncluster = b", "conf.d/1.conf:2: cluster is given twice" },
	{ "in itself", "include(\"a.conf\")", "",
	  "a.conf:1: includes are nested more than 8 deep" },
	{ "not there", "\ninclude(\"conf.d/3.conf\")", "",
	  "a.conf:2: cannot read 'conf.d/3.conf': No such file or directory" },
	{ "no pattern matches", "include(\"conf.d/*.none\") x = 1", "",
	  "a.conf:1: no such option 'x'" },
	{ "no folder matches", "include(\"none/*.conf\") x = 1", "",
	  "a.conf:1: no such option 'x'" },
	{ "an empty file", "include(\"conf.d/*.conf\") x = 1", "",
	  "a.conf:1: no such option 'x'" },
};

START_TEST(file_case)
{
	struct err err = { 0 };

	put_file("a.conf", files[_i].outer);
	put_file("conf.d/1.conf", files[_i].inner);
	ck_assert_ptr_null(conf_load("a.conf", NULL, &err));
	ck_assert_msg(!strcmp(err.text, files[_i].want), "%s: got %s",
	              files[_i].name, err.text);
}
END_TEST

START_TEST(not_a_text)
{
	FILE *file = fopen("a.conf", "w");
	struct err err;

	fwrite("a\n\0b", 1, 4, file);
	fclose(file);
	ck_assert_ptr_null(conf_load("a.conf", NULL, &err));
	ck_assert_str_eq(err.text, "a.conf:2: a NUL byte; this is not a text");
}
END_TEST

START_TEST(no_such_file)
{
	struct err err;

	ck_assert_ptr_null(conf_load("none", NULL, &err));
	ck_assert_int_eq(err.code, ENOENT);
	ck_assert_str_eq(err.text,
	                 "cannot read 'none': No such file or directory");
	ck_assert_ptr_null(conf_load("/dev/zero", NULL, &err));
	ck_assert_str_eq(err.text,
	                 "cannot read '/dev/zero': not a regular file");
}
END_TEST

/* --- man page and sample -------------------------------------------------- */

static char *read_source(const char *name)
{
	const char *top = getenv("top_srcdir");
	char *path = xasprintf("%s/%s", top ? top : ".", name);
	FILE *file = fopen(path, "r");
	struct buf text = { 0 };
	size_t n;

	ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
	while ((n = fread(buf_room(&text, 4096), 1, 4096, file)) > 0)
		buf_grew(&text, n);
	fclose(file);
	free(path);
	return buf_take(&text);
}

/* Returns the part of the man page under ".Ss SECTION", up to the
 * next heading. */
static char *part_of_page(const char *page, const char *section)
{
	char *heading = xasprintf("\n.Ss %s\n", section);
	const char *start = strstr(page, heading), *end;

	ck_assert_msg(start != NULL, "no .Ss %s", section);
	start += strlen(heading);
	end = strstr(start, "\n.S");
	while (end && end[3] != 's' && end[3] != 'h')
		end = strstr(end + 1, "\n.S");
	free(heading);
	return xstrndup(start, end ? (size_t)(end - start) : strlen(start));
}

START_TEST(page_names_every_key)
{
	char *page = read_source("man/aischedd.conf.5");

	for (const char *const *name = conf_key_names(); *name; name++) {
		const char *dot = strchr(*name, '.');
		const char *key = dot ? strrchr(*name, '.') + 1 : *name;
		char *section =
		    dot ? xstrndup(*name, (size_t)(dot - *name)) : NULL;
		char *part =
		    part_of_page(page, section ? section : "Top level");
		char *item = xasprintf(".It Ic %s\n", key);
		char *heading = xasprintf("\n.Ss %s\n", key);

		ck_assert_msg(strstr(part, item) || strstr(page, heading),
		              "the page does not have '%s'", *name);
		free(heading);
		free(item);
		free(part);
		free(section);
	}
	free(page);
}
END_TEST

START_TEST(example_is_good)
{
	char *text = read_source("etc/aischedd.conf");
	struct buf warnings = { 0 };
	struct err err;
	struct conf *conf = conf_parse(text, "aischedd.conf", &warnings, &err);

	ck_assert_msg(conf != NULL, "%s", err.text);
	ck_assert_msg(warnings.len == 0, "%s", warnings.data);

	/* The sample must have every key, at least in a comment. */
	for (const char *const *name = conf_key_names(); *name; name++) {
		const char *dot = strrchr(*name, '.');

		ck_assert_msg(strstr(text, dot ? dot + 1 : *name) != NULL,
		              "the example does not show '%s'", *name);
	}
	conf_free(conf);
	buf_free(&warnings);
	free(text);
}
END_TEST

SUITE(conf)
{
	tcase_add_loop_test(tc, bad_case, 0, ARRAY_SIZE(bad));
	tcase_add_loop_test(tc, odd_case, 0, ARRAY_SIZE(odd));
	tcase_add_test(tc, everything_has_a_default);
	tcase_add_test(tc, values_are_as_written);
	tcase_add_test(tc, queues_inherit_manners_not_restrictions);
	tcase_add_test(tc, queues_run_in_namespaces_of_their_pools);
	tcase_add_test(tc, nodes_are_expanded_and_dealt_out);
	tcase_add_test(tc, variables_come_from_the_environment);
	tcase_add_loop_test(tc, default_queue_case, 0, ARRAY_SIZE(defaults));
	tcase_add_loop_test(tc, many_case, 0, ARRAY_SIZE(many));
	tcase_add_test(tc, nodes_are_bounded);
	tcase_add_test(tc, texts_are_bounded);
	tcase_add_test(tc, parents_may_be_deep);
	tcase_add_loop_test(tc, print_case, 0, ARRAY_SIZE(printed));
	tcase_add_test(tc, print_says_nothing_suspicious_itself);
	tcase_add_test(tc, a_pool_that_leaves_is_kept_but_not_printed);
	tcase_add_test(tc, print_is_for_people);
	tcase_add_test(tc, page_names_every_key);
	tcase_add_test(tc, example_is_good);
}

SUITE(conf_files)
{
	tcase_add_checked_fixture(tc, make_folder, remove_folder);
	tcase_add_test(tc, includes_are_sorted_and_relative);
	tcase_add_loop_test(tc, file_case, 0, ARRAY_SIZE(files));
	tcase_add_test(tc, not_a_text);
	tcase_add_test(tc, no_such_file);
}
