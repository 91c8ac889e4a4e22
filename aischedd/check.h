/*
 * check.h - what a configuration says that this machine does not bear out
 *
 * A file may be right and yet lock people out or have no effect: a group that
 * does not exist, a node that is another machine, more CPUs than there are.
 */
#ifndef AISCHEDD_CHECK_H
#define AISCHEDD_CHECK_H

#include "libcommon/buf.h"
#include "libcommon/conf/conf.h"

/* Append a warning for each, one a line.  Asks the name service, which it
 * gives two seconds. */
void check_conf(const struct conf *conf, struct buf *warnings);

#endif
