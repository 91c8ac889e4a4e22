/*
 * check.h - warn of a configuration that does not match this machine
 *
 * A file may be valid and yet lock users out or have no effect: a group that
 * does not exist, a node that is another machine, more CPUs than there are.
 */
#ifndef AISCHEDD_CHECK_H
#define AISCHEDD_CHECK_H

#include "libcommon/buf.h"
#include "libcommon/conf/conf.h"

/* Append the warnings, one a line. Asks the name service, for at most two
 * seconds. */
void check_conf(const struct conf *conf, struct buf *warnings);

#endif
