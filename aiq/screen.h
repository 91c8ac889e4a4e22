/*
 * screen.h - the whole terminal, drawn line by line
 *
 * Lines are put from the top; what has not changed since the last picture is
 * not written again. The terminal is restored however the program ends: by q,
 * a signal, or while it is stopped.
 */
#ifndef AIQ_SCREEN_H
#define AIQ_SCREEN_H

#include <signal.h>
#include <stdbool.h>

#include "libcommon/err.h"

/*
 * Take the terminal. Signals that would disturb drawing are blocked, except in
 * ppoll() with *ret_unblocked. Fails with ENOTTY if stdin or stdout is not a
 * terminal.
 */
int screen_open(sigset_t *ret_unblocked, struct err *err);
void screen_close(void);

/* Begin a picture: look how large the terminal is by now. */
void screen_begin(int *ret_rows, int *ret_cols);

enum screen_style { STYLE_PLAIN, STYLE_BOLD, STYLE_CURSOR, STYLE_DIM };

/* Put the next line, from column `skip` on, cut at the edge. Colours in text
 * are kept, except in a style. Text must be clean otherwise. */
void screen_line(const char *text, int skip, enum screen_style style);

/* Clear the lines that were not put, and write what changed. */
void screen_end(void);

#endif
