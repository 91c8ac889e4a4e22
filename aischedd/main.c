/* aischedd - the daemon that queues, plans and runs jobs */
#include <err.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "aischedd/build.h"
#include "aischedd/check.h"
#include "aischedd/daemon.h"
#include "aischedd/run/keyring.h"
#include "libcommon/log.h"
#include "libcommon/opt.h"

enum { MMAP_BYTES = 128 * 1024 };

struct args {
	const char *config;
	bool check_config, print_config, accept_loss, verbose;
};

#define INTO(member) .offset = offsetof(struct args, member)

static const struct opt opts[] = {
	{ .letter = 'c',
	  .name = "config",
	  .arg = "FILE",
	  .help = "read this configuration",
	  .set = opt_set_text,
	  INTO(config) },
	{ .name = "check-config",
	  .help = "report what is wrong with it and exit",
	  .set = opt_set_true,
	  INTO(check_config) },
	{ .name = "print-config",
	  .help = "print every value in force and exit",
	  .set = opt_set_true,
	  INTO(print_config) },
	{ .name = "accept-loss",
	  .help = "start with a database that lacks commits",
	  .set = opt_set_true,
	  INTO(accept_loss) },
	{ .letter = 'v',
	  .name = "verbose",
	  .help = "log each job, too",
	  .set = opt_set_true,
	  INTO(verbose) },
	OPT_END
};

static const struct opt_prog prog = {
	.name = "aischedd",
	.usage = "[OPTION]...",
	.about = "Keep the queues of aisched, decide what runs, and run it.",
	.opts = opts,
};

static void print_config(const struct conf *conf)
{
	struct buf out = { 0 };

	conf_print(conf, &out);
	fputs(out.data, stdout);
	buf_free(&out);
}

static int serve(struct conf **conf, const struct args *args, struct err *err)
{
	bool file = *(*conf)->log_file;
	struct daemon *d;
	int status;

	if (keyring_join() < 0)
		return err_sys(err, "cannot begin a session keyring");
	if (file && log_open((*conf)->log_file, err) < 0)
		return -1;
	d = daemon_new(conf, args->config, args->accept_loss, err);
	status = d ? daemon_run(d) : -1;
	if (status < 0 && file)
		log_err("%s", err->text);
	if (!d)
		return -1;
	daemon_free(d);
	return status;
}

static void print_warnings(const char *text)
{
	const char *line;
	size_t len;

	while ((line = text_line(&text, &len)))
		warnx("warning: %.*s", (int)len, line);
}

int main(int argc, char **argv)
{
	struct args args = { 0 };
	struct buf warnings = { 0 };
	struct conf *conf;
	struct err why;
	int status = EXIT_SUCCESS;

	if (opt_parse(&prog, &args, argc, argv) < argc)
		errx(EXIT_USAGE, "no operands are expected");
	conf = conf_load(args.config, &warnings, &why);
	if (conf && !args.print_config)
		check_conf(conf, &warnings);
	if (conf && args.check_config)
		conf_check_paths(conf, &warnings);
	print_warnings(warnings.data);
	buf_free(&warnings);
	if (!conf)
		errx(EXIT_FAILURE, "%s", why.text);
	/* Use mmap() for the large arrays of each pass of the scheduler, so
	 * that their memory returns to the system when they are freed. Without
	 * this, malloc() would raise the threshold at the first free(). */
	mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
	log_init(args.verbose ? LOG_INFO_ : LOG_NOTICE_);
	umask(022);
	if (args.print_config) {
		print_config(conf);
	} else if (!args.check_config && serve(&conf, &args, &why) < 0) {
		warnx("%s", why.text);
		status = EXIT_FAILURE;
	}
	conf_free(conf);
	return status;
}
