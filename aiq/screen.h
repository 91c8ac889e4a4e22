/*
 * screen.h - the whole terminal, drawn line by line
 *
 * Each picture is drawn line by line from the top; lines that are the same as
 * in the last picture are not written again. The terminal is restored when the
 * program ends, also by a signal, and while it is stopped.
 */
#ifndef AIQ_SCREEN_H
#define AIQ_SCREEN_H

#include <signal.h>
#include <stdbool.h>

#include "libcommon/err.h"

/*
 * Switch the terminal to raw mode and the alternate screen. Signals that
 * would disturb drawing are blocked; the caller must wait in ppoll() with
 * *ret_unblocked as the mask. Fails with ENOTTY if stdin or stdout is not
 * a terminal.
 */
int screen_open(sigset_t *ret_unblocked, struct err *err);
void screen_close(void);

/* Begin a picture, and get the present size of the terminal. */
void screen_begin(int *ret_rows, int *ret_cols);

enum screen_style { STYLE_PLAIN, STYLE_BOLD, STYLE_CURSOR, STYLE_DIM };

/* Draw the next line, from column `skip` of text on, cut off at the edge of the
 * terminal. Escape sequences for colours in text are kept if style is
 * STYLE_PLAIN; the text must have no other control characters. */
void screen_line(const char *text, int skip, enum screen_style style);

/* Clear the lines that were not drawn, and write all changes to
 * the terminal. */
void screen_end(void);

#endif
