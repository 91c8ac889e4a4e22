/*
 * watch.c - a live view of jobs, queues and nodes on the whole terminal
 *
 * A loop waits for keys, the daemon's answers and output of the program in the
 * pane, and draws a picture after each. live.h says where the rows come from,
 * and screen.h how they are drawn. The pane shows the output of another aiq,
 * such as the details of a job, in place of the rows.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aiq/aiq.h"
#include "aiq/keys.h"
#include "aiq/live.h"
#include "aiq/pane.h"
#include "aiq/screen.h"
#include "libcommon/clean.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum {
	ESC_MS = 50, /* time after which a single ESC is the key Esc */
	/* Time after which a message says that there is no answer. */
	LATE_MS = 3000,
	MOST_WORDS = 64, /* arguments of a command line */
	SMALL = 8, /* if the terminal has fewer rows, show only the list */
	SIDE = 16, /* columns by which an arrow key scrolls */
};

/* The meaning of keys at present: commands for the list or the pane, a text to
 * find, filter options, or the answer to a question. */
enum watch_mode { MODE_LIST, MODE_PANE, MODE_FIND, MODE_FILTER, MODE_ASK };

struct view_state {
	struct live live;
	struct keys keys;
	struct pane pane;
	enum watch_mode mode;
	sigset_t unblocked;
	/* Times of the next round and of the last key. */
	int64_t next_ms, key_ms;
	int64_t period_s;
	/* tail: the pane shows the end of its text as it grows. */
	bool paused, quit, esc, tail;
	int rows, cols, side;
	size_t top;      /* first row of the list, or line of the pane */
	char title[128]; /* title of the pane */
	char *words; /* arguments with which each round runs the pane's program
	                again; NULL: it runs only once */
	struct buf input;
	const char *action; /* action on a job to be confirmed */
	char *asked; /* the job that the action is for, even if the cursor moves
	              */
};

static const char help[] =
    "arrows j k PgUp PgDn Home End  move       left right  columns\n"
    "Tab 1-6    jobs, queues, nodes, shares, cron entries, history\n"
    "[ ]        the queue before, the next queue, all queues\n"
    "Enter      describe the job, or list the jobs of the row\n"
    "l          output of the job, as it is written\n"
    "w          why the job waits, and until when\n"
    "/ n N      find text, find it again downwards, upwards\n"
    "f          filter: options of aiq, such as -u alice -t PD\n"
    "s S        sort by the next column, turn the order round\n"
    "a          jobs of everyone, or only mine\n"
    "c h R      cancel, hold, release the job: asks first\n"
    "space r    pause, ask now       + -  ask less often, more often\n"
    "q          leave this text, then the program: also Ctrl-C, Esc twice\n";

/* --- drawing -------------------------------------------------------------- */

static void draw_message(const struct view_state *v)
{
	const struct live *live = &v->live;
	int64_t late = clock_ms() - live->asked_ms;
	char text[1024];

	if (v->mode == MODE_FIND || v->mode == MODE_FILTER)
		snprintf(text, sizeof(text), "%s%s_",
		         v->mode == MODE_FIND ? "/" : "filter: ",
		         v->input.len ? v->input.data : "");
	else if (v->mode == MODE_ASK)
		snprintf(text, sizeof(text), "%s %s? y: yes, any other key: no",
		         v->action, v->asked);
	else if (live->stage != STAGE_IDLE && late > LATE_MS)
		snprintf(text, sizeof(text),
		         "no answer for %lld s, trying again",
		         (long long)late / 1000);
	else if (*live->message)
		snprintf(text, sizeof(text), "%s", live->message);
	else
		snprintf(text, sizeof(text), "%s?: help  q: quit%s",
		         v->mode == MODE_PANE
		             ? ""
		             : "Enter l w: show  /: find  s: sort  f: filter  "
		               "Tab: others  ",
		         v->paused ? "  PAUSED" : "");
	text[text_clean(text, strlen(text))] = '\0';
	screen_line(text, 0, STYLE_BOLD);
}

static void draw_head(const struct view_state *v)
{
	const struct live *live = &v->live;
	const struct live_head *head = &live->head;
	enum screen_style style = live->lost ? STYLE_DIM : STYLE_PLAIN;
	size_t bars = (size_t)v->rows / SMALL;
	struct buf line = { 0 };

	buf_printf(&line, "%s  %s  ", head->cluster ? head->cluster : "?",
	           live_tabs[live->tab]);
	format_time(&line, time(NULL));
	buf_printf(&line, "  %lld rows", (long long)live->count);
	if (live->queue_at < live->nqueues)
		buf_printf(&line, "  queue %s", live->queue[live->queue_at]);
	screen_line(line.data, 0, STYLE_BOLD);
	screen_line(head->jobs ? head->jobs : "", 0, style);
	for (size_t i = 0; i < head->npools && i < bars; i++) {
		buf_clear(&line);
		head_bar(&head->pool[i], &line);
		screen_line(line.data, 0, style);
	}
	buf_free(&line);
}

/* Returns how many lines are above the list. */
static int head_lines(const struct view_state *v)
{
	size_t bars = (size_t)v->rows / SMALL;

	if (v->rows < SMALL)
		return 0;
	return 2 +
	       (int)(v->live.head.npools < bars ? v->live.head.npools : bars);
}

static void draw_row(const struct view_state *v, size_t i)
{
	const struct live *live = &v->live;
	bool here = i == live->at;
	char *text = xasprintf("%s%s", here ? "> " : "  ", live->line[i + 1]);

	screen_line(text, v->side,
	            here         ? STYLE_CURSOR
	            : live->lost ? STYLE_DIM
	                         : STYLE_PLAIN);
	free(text);
}

static void draw_list(struct view_state *v, int rows)
{
	struct live *live = &v->live;
	char *header = xasprintf("  %s", live->n ? live->line[0] : "");
	size_t room = rows > 1 ? (size_t)rows - 1 : 1;

	live->span = room > 40 ? room : 40;
	if (live->at < v->top)
		v->top = live->at;
	if (live->at >= v->top + room)
		v->top = live->at - room + 1;
	screen_line(header, v->side, STYLE_BOLD);
	free(header);
	for (size_t i = v->top; i < v->top + room; i++) {
		if (i < live->n)
			draw_row(v, i);
		else if (!live->n && i == v->top)
			screen_line(live->line ? "  none" : "  asking ...", 0,
			            STYLE_PLAIN);
		else
			screen_line("", 0, STYLE_PLAIN);
	}
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; text && *text; n++) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return n;
}

static void draw_pane(struct view_state *v, int rows)
{
	const char *at = v->pane.text.len ? v->pane.text.data : "", *line;
	size_t n = count_lines(at), room = rows > 1 ? (size_t)rows - 1 : 1;
	size_t most = n > room ? n - room : 0, len;

	if (v->tail || v->top > most)
		v->top = most;
	screen_line(v->title, 0, STYLE_BOLD);
	for (size_t i = 0; i < v->top + room; i++) {
		line = text_line(&at, &len);
		if (i >= v->top)
			screen_line(line ? line : "", v->side, STYLE_PLAIN);
	}
}

static void draw(struct view_state *v)
{
	bool pane;
	int left;

	screen_begin(&v->rows, &v->cols);
	left = v->rows - head_lines(v) - 1;
	pane = v->mode == MODE_PANE;
	if (head_lines(v))
		draw_head(v);
	if (pane)
		draw_pane(v, left);
	else
		draw_list(v, left);
	draw_message(v);
	screen_end();
}

/* --- the pane ------------------------------------------------------------- */

/* Start aiq, in the pane, with arguments that are separated by spaces. */
static void run_words(struct view_state *v, const char *words, bool grows)
{
	const char *word[MOST_WORDS + 4] = { "aiq" };
	char *copy = xstrdup(words), *save = NULL;
	size_t n = 1;
	struct err err;

	if (v->live.aiq.socket) {
		word[n++] = "--socket";
		word[n++] = v->live.aiq.socket;
	}
	for (char *s = strtok_r(copy, " ", &save); s && n < MOST_WORDS;
	     s = strtok_r(NULL, " ", &save))
		word[n++] = s;
	if (pane_start(&v->pane, word, grows, &err) < 0)
		snprintf(v->live.message, sizeof(v->live.message), "%s",
		         err.text);
	free(copy);
}

/* Open the pane with the output of `aiq WORDS`. */
static void open_pane(struct view_state *v, char *words, bool grows)
{
	pane_stop(&v->pane);
	snprintf(v->title, sizeof(v->title), "aiq %s", words);
	v->title[text_clean(v->title, strlen(v->title))] = '\0';
	run_words(v, words, grows);
	free(v->words);
	v->words = grows ? NULL : words;
	if (grows)
		free(words);
	v->mode = MODE_PANE;
	v->tail = grows;
	v->top = 0;
	v->side = 0;
}

static void close_pane(struct view_state *v)
{
	pane_stop(&v->pane);
	free(v->words);
	v->words = NULL;
	v->mode = MODE_LIST;
	v->top = 0;
	v->side = 0;
}

static bool is_jobs(const struct view_state *v)
{
	return v->live.tab == 0 || v->live.tab + 1 == TABS;
}

/* For Enter: show the job, or list the jobs, of the current row. */
static void open_row(struct view_state *v)
{
	static const char *const words[TABS] = {
		"%s", "-a -q %s", "-a --node %s", "-a -q %s", "--cron %s", "%s",
	};
	const struct live *live = &v->live;
	const char *name, *format = words[live->tab];
	size_t before = strcspn(format, "%");

	if (live->at >= live->n)
		return;
	name = live->row[live->at].name;
	/* The words are split at spaces: do nothing if the name has one. */
	if (!strchr(name, ' '))
		open_pane(v, xasprintf("%.*s%s", (int)before, format, name),
		          false);
}

static void open_job(struct view_state *v, const char *options, bool grows)
{
	const struct live *live = &v->live;

	if (is_jobs(v) && live->at < live->n)
		open_pane(v,
		          xasprintf("%s %s", options, live->row[live->at].name),
		          grows);
}

static void open_help(struct view_state *v)
{
	close_pane(v);
	buf_puts(&v->pane.text, help);
	snprintf(v->title, sizeof(v->title), "aiq --watch: keys");
	v->mode = MODE_PANE;
	v->tail = false;
}

/* --- keys ----------------------------------------------------------------- */

/* Handle keys that move in the list or the pane; returns whether `key` is such
 * a key. */
static bool key_moves(struct view_state *v, int key)
{
	long page = v->rows > 6 ? v->rows - 6 : 1, by = 0;

	switch (key) {
	case KEY_UP:
	case 'k':
		by = -1;
		break;
	case KEY_DOWN:
	case 'j':
		by = 1;
		break;
	case KEY_PAGE_UP:
		by = -page;
		break;
	case KEY_PAGE_DOWN:
		by = page;
		break;
	case KEY_RIGHT:
		v->side += SIDE;
		return true;
	case KEY_LEFT:
		v->side = v->side > SIDE ? v->side - SIDE : 0;
		return true;
	default:
		return false;
	}
	if (v->mode != MODE_PANE) {
		live_move(&v->live, by);
		return true;
	}
	v->tail = false;
	v->top = by < 0 && v->top < (size_t)-by ? 0 : v->top + (size_t)by;
	return true;
}

static void begin_input(struct view_state *v, enum watch_mode mode)
{
	v->mode = mode;
	buf_clear(&v->input);
}

static void ask_for(struct view_state *v, const char *action)
{
	if (v->live.tab != 0 || v->live.at >= v->live.n)
		return;
	v->action = action;
	text_set(&v->asked, v->live.row[v->live.at].name);
	v->mode = MODE_ASK;
}

static void set_period(struct view_state *v, int64_t by)
{
	v->period_s += by;
	if (v->period_s < WATCH_MIN_S)
		v->period_s = WATCH_MIN_S;
	if (v->period_s > WATCH_MAX_S)
		v->period_s = WATCH_MAX_S;
	snprintf(v->live.message, sizeof(v->live.message), "every %lld s",
	         (long long)v->period_s);
}

/* Handle keys that choose which rows the list shows; returns whether `key` is
 * such a key. */
static bool key_chooses(struct view_state *v, int key)
{
	struct live *live = &v->live;

	switch (key) {
	case '\t':
		live_tab(live, live->tab + 1);
		break;
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
		live_tab(live, (size_t)(key - '1'));
		break;
	case '[':
	case ']':
		live_queue(live, key == '[' ? -1 : 1);
		break;
	case 's':
	case 'S':
		live_sort(live, key == 'S');
		break;
	case 'a':
		live_all(live);
		break;
	case KEY_HOME:
	case KEY_END:
		live_end(live, key == KEY_END);
		break;
	case 'n':
	case 'N':
		live_find(live, NULL, key == 'N');
		break;
	default:
		return false;
	}
	v->top = 0;
	return true;
}

/* Handle keys that act on the current row or on the view. */
static void key_acts(struct view_state *v, int key)
{
	switch (key) {
	case KEY_ENTER:
	case '\n':
		open_row(v);
		break;
	case 'l':
		open_job(v, "--log -f", true);
		break;
	case 'w':
		open_job(v, "-o state,reason,expected_start,reason_text",
		         false);
		break;
	case '/':
		begin_input(v, MODE_FIND);
		break;
	case 'f':
		begin_input(v, MODE_FILTER);
		break;
	case 'c':
		ask_for(v, "cancel");
		break;
	case 'h':
		ask_for(v, "hold");
		break;
	case 'R':
		ask_for(v, "release");
		break;
	case 'q':
		v->quit = true;
		break;
	default:
		break;
	}
}

static void key_common(struct view_state *v, int key)
{
	switch (key) {
	case ' ':
		v->paused = !v->paused;
		break;
	case 'r':
		v->next_ms = 0;
		break;
	case '+':
	case '-':
		set_period(v, key == '+' ? 1 : -1);
		break;
	case '?':
		open_help(v);
		break;
	default:
		break;
	}
}

static void key_in_pane(struct view_state *v, int key)
{
	if (key == 'q' || key == KEY_ESC)
		close_pane(v);
	else if (key == KEY_HOME || key == KEY_END) {
		v->tail = key == KEY_END;
		v->top = 0;
	} else if (!key_moves(v, key))
		key_common(v, key);
}

/* Restart aiq with the options that were typed, if they are valid. */
static void filter(struct view_state *v)
{
	char *words = xasprintf("--watch=%lld %s", (long long)v->period_s,
	                        v->input.len ? v->input.data : "");
	const char *word[MOST_WORDS + 4] = { "aiq" };
	struct pollfd fd = { .events = POLLIN };
	char *save = NULL;
	size_t n = 1;

	/* To check the options, run aiq without a terminal: it prints an error
	 * about them or, with another exit status, that it needs a terminal. */
	run_words(v, words, false);
	while (v->pane.fd >= 0) {
		fd.fd = v->pane.fd;
		poll(&fd, 1, -1);
		pane_read(&v->pane);
	}
	if (WEXITSTATUS(v->pane.status) != EXIT_FAILURE) {
		snprintf(v->live.message, sizeof(v->live.message), "%.*s",
		         (int)strcspn(v->pane.text.data, "\n"),
		         v->pane.text.data);
		pane_stop(&v->pane);
		free(words);
		return;
	}
	if (v->live.aiq.socket) {
		word[n++] = "--socket";
		word[n++] = v->live.aiq.socket;
	}
	for (char *s = strtok_r(words, " ", &save); s && n < MOST_WORDS;
	     s = strtok_r(NULL, " ", &save))
		word[n++] = s;
	screen_close();
	sigprocmask(SIG_SETMASK, &v->unblocked, NULL);
	execv("/proc/self/exe", (char *const *)(uintptr_t)word);
	_exit(EXIT_FAILURE);
}

static void key_in_input(struct view_state *v, int key)
{
	enum watch_mode mode = v->mode;

	if (key == KEY_ESC || key == KEY_ENTER || key == '\n')
		v->mode = MODE_LIST;
	if (key == KEY_ENTER || key == '\n') {
		if (mode == MODE_FIND)
			live_find(&v->live, v->input.len ? v->input.data : NULL,
			          false);
		else
			filter(v);
	} else if (key == 127 || key == 8) {
		while (v->input.len &&
		       (v->input.data[--v->input.len] & 0xc0) == 0x80)
			;
		if (v->input.data)
			v->input.data[v->input.len] = '\0';
	} else if (key >= ' ' && key < KEY_UP && v->input.len < 200) {
		buf_addc(&v->input, (char)key);
	}
}

static void on_key(struct view_state *v, int key)
{
	bool esc = v->esc;

	v->esc = false;
	if (v->mode == MODE_FIND || v->mode == MODE_FILTER) {
		key_in_input(v, key);
		return;
	}
	*v->live.message = '\0';
	if (v->mode == MODE_ASK) {
		v->mode = MODE_LIST;
		if (key == 'y')
			live_act(&v->live, v->action, v->asked);
	} else if (v->mode == MODE_PANE) {
		key_in_pane(v, key);
	} else if (key == KEY_ESC) {
		v->esc = true;
		v->quit = esc;
	} else if (!key_moves(v, key) && !key_chooses(v, key)) {
		key_acts(v, key);
		key_common(v, key);
	}
}

/* --- the loop ------------------------------------------------------------- */

static void round_begins(struct view_state *v)
{
	if (v->paused && v->next_ms)
		return;
	v->next_ms = clock_ms() + v->period_s * 1000;
	live_round(&v->live);
	if (v->mode == MODE_PANE && v->words && v->pane.fd < 0)
		run_words(v, v->words, false);
}

/* Returns how many ms to wait for input before something else is due. */
static int64_t patience(const struct view_state *v)
{
	int64_t left = v->next_ms - clock_ms();

	if (v->keys.len)
		return ESC_MS;
	/* Draw at least once a second, for the clock and the time without
	 * an answer. */
	return left < 0 ? 0 : left > 1000 ? 1000 : left;
}

static void read_keys(struct view_state *v, bool readable)
{
	char bytes[32];
	ssize_t n = readable ? read(STDIN_FILENO, bytes, sizeof(bytes)) : 0;
	int key;

	if (readable && n <= 0) {
		v->quit = true; /* the terminal has gone */
		return;
	}
	if (n > 0)
		v->key_ms = clock_ms();
	keys_add(&v->keys, bytes, (size_t)n);
	while (!v->quit &&
	       (key = keys_next(&v->keys, clock_ms() - v->key_ms >= ESC_MS)))
		on_key(v, key);
}

static void wait_for_more(struct view_state *v)
{
	bool asks = v->live.stage != STAGE_IDLE;
	struct pollfd fd[3] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = asks ? client_fd(v->live.client) : -1,
		  .events = POLLIN },
		{ .fd = v->pane.fd, .events = POLLIN },
	};
	int64_t ms = patience(v);
	struct timespec most = { ms / 1000, ms % 1000 * 1000000 };
	int n = ppoll(fd, 3, &most, &v->unblocked);

	if (n > 0 && fd[1].revents)
		live_answer(&v->live);
	if (n > 0 && fd[2].revents)
		pane_read(&v->pane);
	read_keys(v, n > 0 && fd[0].revents);
	if (clock_ms() >= v->next_ms)
		round_begins(v);
}

int watch_run(const struct aiq *aiq, struct err *err)
{
	struct view_state v = { .pane = { .fd = -1 } };

	if (screen_open(&v.unblocked, err) < 0)
		return -1;
	v.period_s = aiq->period_s;
	live_init(&v.live, aiq);
	while (!v.quit) {
		draw(&v);
		wait_for_more(&v);
	}
	screen_close();
	pane_stop(&v.pane);
	live_free(&v.live);
	buf_free(&v.input);
	free(v.words);
	free(v.asked);
	return 0;
}
