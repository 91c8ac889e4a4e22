/* paths.c - addresses of the daemon, and our own helper programs */
#include "libcommon/paths.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/conf/conf.h"
#include "libcommon/mem.h"

const char system_socket[] = "/run/aisched/aischedd.sock";

/* Returns $XDG_RUNTIME_DIR if this user owns that folder, else NULL: after su
 * or sudo the variable may still name another user's folder. */
static const char *runtime_dir(void)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (!dir || *dir != '/' || stat(dir, &st) < 0 || st.st_uid != geteuid())
		return NULL;
	return dir;
}

char *conf_default_socket(void)
{
	const char *dir;

	if (geteuid() == 0)
		return xstrdup(system_socket);
	dir = runtime_dir();
	if (dir)
		return xasprintf("%s/aisched/aischedd.sock", dir);
	return xasprintf("/tmp/aisched-%u/aischedd.sock", (unsigned)geteuid());
}

int address_parse(const char *address, char **ret_host, char **ret_port,
                  struct err *err)
{
	static const char scheme[] = "tcp://";
	const char *host = address, *colon, *end;

	if (!strncmp(address, scheme, strlen(scheme)))
		host += strlen(scheme);
	else if (strchr(address, '/') || !strchr(address, ':'))
		return *address ? 0 : err_set(err, EINVAL, "empty address");
	colon = strrchr(host, ':');
	end = colon;
	if (*host == '[') {
		host++;
		if (colon && colon > host && colon[-1] == ']')
			end = colon - 1;
		else
			colon = NULL;
	}
	if (!colon || !colon[1] || strchr(colon, '/'))
		return err_set(err, EINVAL,
		               "'%s' is not an address: use tcp://HOST:PORT",
		               address);
	*ret_host = xstrndup(host, (size_t)(end - host));
	*ret_port = xstrdup(colon + 1);
	return 1;
}

char *program_path(const char *folder, const char *name, struct err *err)
{
	/* Paths from the daemon's folder in the build tree, or from a folder of
	 * tests/unit, to the top of that tree. */
	static const char *const up[] = { "..", "../.." };
	char self[PATH_MAX], *dir, *path;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0) {
		err_sys(err, "cannot read '/proc/self/exe'");
		return NULL;
	}
	self[len] = '\0';
	dir = dirname(self);
	path = xasprintf("%s/../libexec/aisched/%s", dir, name);
	for (size_t i = 0; access(path, X_OK) < 0; i++) {
		free(path);
		if (i == ARRAY_SIZE(up)) {
			err_set(err, ENOENT,
			        "cannot find the program '%s' in "
			        "'%s/../libexec/aisched'",
			        name, dir);
			return NULL;
		}
		path = xasprintf("%s/%s/%s/%s", dir, up[i], folder, name);
	}
	return path;
}
